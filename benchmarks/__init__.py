"""Benchmarks: README.md names their commands; ``python -m benchmarks`` is the first."""
