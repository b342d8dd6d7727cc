"""Nothing n × n: what a large fit really takes, measured in a process of its own."""

import subprocess
import sys

MEASURE = """
import resource, warnings
import numpy as np
from unaligned import PAVuC

warnings.simplefilter("ignore")
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
rng = np.random.RandomState(0)
y = rng.randint(10, size=30_000)
Xs = [rng.normal(size=(10, d))[y] + rng.normal(size=(30_000, d)) for d in (20, 30)]
model = PAVuC(10, max_iter=2, n_init=1, random_state=0)
model.fit([X[:1000] for X in Xs])  # imports and compilation are no part of it
before = peak()
model.fit(Xs)
print(peak() - before)
"""


def test_30000_rows_fit_in_600_mib():
    # One n × n array of float32 would be 3,433 MiB.
    result = subprocess.run(
        [sys.executable, "-c", MEASURE], capture_output=True, text=True, check=True
    )
    assert float(result.stdout) < 600
