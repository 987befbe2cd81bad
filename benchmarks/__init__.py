"""Measures this engine beside the host's: same machine, same run, same servers.

`python -m benchmarks` runs everything; docs/benchmarks.md says what is measured how.
"""
