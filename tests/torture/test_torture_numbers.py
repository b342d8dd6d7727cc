"""Numbers at the edge: every method ends with finite ones, or says why it cannot.

And the same numbers come out with any number of threads, any size of blocks, and in
any process; in single precision they differ by a stated tolerance.
"""

import dataclasses
import hashlib
import os
import subprocess
import sys
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from tests.conftest import ROOT, make_blobs
from unaligned.alignment import Alignment
from unaligned.datasets import unalign
from unaligned.estimators import ESTIMATORS
from unaligned.kernels import blocks, matching_blocks
from unaligned.savuc import recipes

# They have no numbers without torch, and some none without known pairs.
DEEP = ("PVC", "MvCLN", "SURE", "SMILE", "CPMN")
SHALLOW = [name for name in ESTIMATORS if name not in DEEP]
with_torch = [pytest.param(name, marks=pytest.mark.heavy) for name in DEEP]
every_method = pytest.mark.parametrize("name", [*SHALLOW, *with_torch])


def scaled(size, dtype=np.float64):
    return [(X / np.abs(X).max() * size).astype(dtype) for X in make_blobs(24)[0]]


def rows_gone():
    return [np.where(np.arange(24)[:, None] < 6, 0, X) for X in make_blobs(24)[0]]


blobs = make_blobs(24)[0]
# Views that make something vanish or overflow, and a number of clusters.
EDGES = {
    "as many clusters as rows": ([X[:6] for X in blobs], 6),
    "one cluster": (blobs, 1),
    "two rows": ([X[:2] for X in blobs], 2),
    "one row": ([X[:1] for X in blobs], 1),
    "one view": (blobs[:1], 3),
    "identical views": ([blobs[0]] * 3, 3),
    "one constant view": ([blobs[0], np.ones((24, 4)), blobs[2]], 3),
    "one view of zeros": ([blobs[0], np.zeros((24, 4)), blobs[2]], 3),
    "nothing but zeros": ([np.zeros((24, 4))] * 2, 3),
    "identical rows": ([np.tile(X[:1], (24, 1)) for X in blobs], 3),
    "fewer different rows than clusters": ([np.repeat(X[:2], 12, 0) for X in blobs], 3),
    "rows of zeros": (rows_gone(), 3),
    "single columns": ([X[:, :1] for X in blobs], 3),
    "negative": ([-np.abs(X) for X in blobs], 3),
    "booleans": ([X > 0 for X in blobs], 3),
    "one enormous row": ([np.where(np.arange(24)[:, None] == 3, 1e140, blobs[0])], 3),
    "views of all sizes": ([blobs[0] * 1e-200, blobs[1], blobs[2] * 1e140], 3),
    **{f"of size {size:g}": (scaled(size), 3) for size in (1e-323, 1e-160, 1e150)},
    **{
        f"float32 of size {size:g}": (scaled(size, np.float32), 3)
        for size in (1e-45, 1e-30, 1e16)
    },
    "beyond float64": (scaled(1e300), 3),
    "beyond float32": (scaled(1e30, np.float32), 3),
    "empty sparse views": ([sparse.csr_array(X.shape) for X in blobs], 3),
    "sparse views": ([sparse.csr_array(np.where(X > 1, X, 0)) for X in blobs], 3),
}


# Edges that some refuse, beside those that all do, and why anything may be refused.
REFUSED = {
    "SAVuC": {"one row"},
    "PVC": {"one view", "one enormous row"},
    "MvCLN": {"one view", "one enormous row", "views of all sizes", "of size 1e+150"},
    "SURE": {"one view", "one enormous row", "views of all sizes", "of size 1e+150"},
}
REASONS = [
    "squares do not fit",
    "sparse input is not supported",
    "a row has no place among others where there are no others",
    "but got one view",
]


def arrays_in(thing):
    """All arrays and numbers that a state is made of."""
    if isinstance(thing, np.ndarray):
        yield thing
    elif sparse.issparse(thing):
        yield thing.data
    elif isinstance(thing, float):
        yield np.array(thing)
    elif hasattr(thing, "_asdict"):
        # A scale is infinite where a column says nothing.
        yield from arrays_in([v for k, v in thing._asdict().items() if k != "scale"])
    elif isinstance(thing, list | tuple):
        for part in thing:
            yield from arrays_in(part)
    elif isinstance(thing, Alignment):
        # A method that has no test of its own has no trust.
        tested = thing.trust[np.array(thing.verdict) != "untested"]
        yield from arrays_in([tested, thing.permutations, thing.confidence])
    elif dataclasses.is_dataclass(thing):
        yield from arrays_in(list(vars(thing).values()))


def assert_finite(thing):
    assert all(np.isfinite(a).all() for a in arrays_in(thing) if a.dtype.kind == "f")


def watched(cls):
    """The method, whose every iterate is looked at."""

    class Watched(cls):
        def _iterate(self, views, pairs, rng):
            for iterate in super()._iterate(views, pairs, rng):
                assert_finite(iterate.state)
                objective = getattr(iterate, "objective", None)  # a milestone has none
                assert objective is None or np.isfinite(objective)
                yield iterate

    return Watched


def quick(cls, k, **parameters):
    few = {"n_init": 1, "max_iter": 5, "effort": "quick", "n_restarts": 1}
    few |= {"hidden": (8,), "epochs": 3, "pretrain_epochs": 3, "align_epochs": 3}
    few |= {"finetune_epochs": 3} | parameters
    known = cls().get_params()
    return cls(k, random_state=0, **{p: v for p, v in few.items() if p in known})


def fit(cls, Xs, k, aligned=None, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return quick(cls, k, **parameters).fit(Xs, aligned=aligned)


@pytest.mark.parametrize("aligned", [None, "all"])
@every_method
def test_no_iteration_leaves_anything_but_numbers(name, aligned, monkeypatch):
    if name in DEEP and aligned is None:
        pytest.skip("has nothing to learn from")
    monkeypatch.setattr(recipes, "N_STARTS", 1)  # SAVuC's, to be quick
    told = {}
    for edge, (Xs, k) in EDGES.items():
        try:
            model = fit(watched(ESTIMATORS[name]), Xs, k, aligned)
        except (ValueError, TypeError) as error:
            told[edge] = str(error)
            continue
        assert_finite(list(vars(model).values()))
        for X, labels in zip(Xs, model.view_labels_, strict=True):
            assert labels.shape == X.shape[:1]
            assert 0 <= labels.min() <= labels.max() < model.n_clusters_
        if hasattr(model, "predict"):
            assert model.predict(Xs[-1], view=-1).shape == Xs[-1].shape[:1]
    must = {"beyond float64", "beyond float32"}
    may = {"sparse views", "empty sparse views"} | REFUSED.get(name, set())
    assert must <= told.keys() <= must | may
    assert all(any(why in text for why in REASONS) for text in told.values())


@every_method
def test_single_precision_agrees(name):
    # Labels are the same; objectives agree to one part in a thousand.
    Xs, _ = make_blobs(60)
    double = fit(ESTIMATORS[name], Xs, 3, "all")
    single = fit(ESTIMATORS[name], [X.astype(np.float32) for X in Xs], 3, "all")
    assert adjusted_rand_score(double.labels_, single.labels_) == 1
    if hasattr(double, "objective_"):
        n = min(len(double.objective_), len(single.objective_))
        scale = np.abs(double.objective_[:n]).max()
        np.testing.assert_allclose(
            single.objective_[:n], double.objective_[:n], rtol=1e-3, atol=1e-3 * scale
        )


def shuffled(n=150):
    Xs, y = make_blobs(n, widths=(40, 30, 50), spread=1.0)
    return unalign(Xs, y, ratio=0.3, random_state=0)


def fingerprint(model):
    """Labels and partners of every row, in a few letters."""
    parts = [*model.view_labels_, *model.alignment_.permutations]
    whole = b"".join(np.asarray(part, dtype=np.int64).tobytes() for part in parts)
    return hashlib.sha256(whole).hexdigest()[:16]


def all_fingerprints():
    data, found = shuffled(), {}
    for name in SHALLOW:
        Xs = data.Xs[:2] if name == "SAVuC" else data.Xs  # which is the slowest
        found[name] = fingerprint(fit(ESTIMATORS[name], Xs, 3, data.n_aligned))
    return found


def test_threads_and_blocks_change_no_label(monkeypatch):
    with threadpool_limits(1):
        expected = all_fingerprints()
    with threadpool_limits(4):
        assert all_fingerprints() == expected
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 1)  # blocks of 64 rows
    monkeypatch.setattr(blocks, "PART_BYTES", 1)
    monkeypatch.setattr(blocks, "TIMES_ITS_SUMS", 0)
    monkeypatch.setattr(matching_blocks, "BLOCK_SCORES", 1)
    assert all_fingerprints() == expected


def test_a_seed_means_the_same_in_every_process():
    code = (
        "from tests.torture.test_torture_numbers import all_fingerprints\n"
        "print(sorted(all_fingerprints().items()))"
    )
    printed = set()
    for hash_seed, threads in (("0", "1"), ("12345", "3")):
        environment = os.environ | {
            "PYTHONHASHSEED": hash_seed,
            "OMP_NUM_THREADS": threads,
            "OPENBLAS_NUM_THREADS": threads,
            "PYTHONPATH": str(ROOT),
        }
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env=environment,
        )
        printed.add(done.stdout)
    assert printed == {f"{sorted(all_fingerprints().items())}\n"}
