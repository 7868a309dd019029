"""Building the kernels ahead of time: every kernel of the registry as machine code in one shared library."""
