"""Releases: wheels of every platform from one machine, the source distribution, checksums: `python -m release`."""
