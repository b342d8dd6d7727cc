"""Timings as ratios within one run, in asv's form: ``python -m benchmarks``."""
