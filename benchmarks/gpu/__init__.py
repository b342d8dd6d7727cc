"""PAVuC on a GPU: ``python -m benchmarks.gpu``."""
