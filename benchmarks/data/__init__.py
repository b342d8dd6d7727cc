"""Data that benchmarks are run on: real, generated, and pools of partitions."""
