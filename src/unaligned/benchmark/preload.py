"""Imported once by the server that workers are forked from.

Loads all that a fit needs, compiled kernels included, so that neither the time nor the
memory of a cell holds the cost of loading. The kernels called here start no threads: a
process with threads must not be forked.
"""

import numpy as np

import unaligned.benchmark.measure  # noqa: F401
from unaligned.kernels.matching import match_greedy
from unaligned.kernels.neighbors import top_products

for dtype in (np.float32, np.float64):
    points = np.eye(3, dtype=dtype)
    match_greedy(points, points, np.arange(3))
    top_products(points, points, 2)
