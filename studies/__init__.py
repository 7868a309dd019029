"""Studies: our figures beside published ones. Each is a module, run by `python -m studies NAME`."""
