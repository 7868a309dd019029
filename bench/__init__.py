"""Benchmarks: `python -m bench` runs them all, with python-crfsuite in the same run where it can do the work."""
