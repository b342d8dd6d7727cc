"""Fits hold the threads of libraries, which else wait for each other and spin."""

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from tests.conftest import make_blobs
from unaligned import SAVuC
from unaligned.base import ViewClusterer
from unaligned.baselines._graph_transport import couple
from unaligned.estimators import ESTIMATORS
from unaligned.savuc import estimator, outcome

HELD = [name for name, cls in ESTIMATORS.items() if cls._n_threads == 1]


def threads(libraries=None):
    """How many threads libraries take: those that are named, or all."""
    return {
        library["num_threads"]
        for library in threadpool_info()
        if libraries is None or library["filepath"] in libraries
    }


@pytest.fixture
def two_threads():
    """Libraries that are loaded take two threads; a fit may load others."""
    with threadpool_limits(limits=2):
        if threads() != {2}:
            pytest.skip("the libraries of this machine take one thread")
        libraries = {library["filepath"] for library in threadpool_info()}
        yield libraries
        assert threads(libraries) == {2}  # again, after the fit


def test_methods_of_small_products_take_one():
    assert {"LMVSC", "FDAGF", "RCAGL", "CMVNMF", "VuCG"} <= {*HELD}


@pytest.mark.parametrize("name", HELD)
def test_a_fit_takes_one_thread(name, monkeypatch, two_threads):
    seen = []
    keep = ViewClusterer._keep

    def kept(self, attributes):
        seen.append(threads(two_threads))
        keep(self, attributes)

    monkeypatch.setattr(ViewClusterer, "_keep", kept)
    model = ESTIMATORS[name](3, random_state=0)
    few = {"max_iter", "n_restarts"} & {*model.get_params()}
    model.set_params(**dict.fromkeys(few, 2))
    model.fit(make_blobs(n=30)[0])
    assert seen == [{1}]


def test_a_library_that_a_fit_loads_takes_one_thread(monkeypatch):
    ot, seen = pytest.importorskip("ot"), []
    solve = ot.gromov.entropic_gromov_wasserstein

    def seen_from(*arguments, **options):
        seen.append(threads())
        return solve(*arguments, **options)

    monkeypatch.setattr(ot.gromov, "entropic_gromov_wasserstein", seen_from)
    steps = np.abs(np.subtract.outer(np.arange(6.0), np.arange(6.0)))
    with threadpool_limits(limits=2):
        couple(steps, steps, 0.1, max_iter=5, tol=1e-6)
    assert seen == [{1}]


def test_savuc_labels_with_one_thread(monkeypatch, two_threads):
    seen = []
    for name in ("fit_bridge", "label_views", "find_space", "fit_labeller"):
        module = estimator if name == "fit_labeller" else outcome
        step = getattr(module, name)

        def seen_from(*arguments, step=step, name=name, **options):
            seen.append((name, threads()))
            return step(*arguments, **options)

        monkeypatch.setattr(module, name, seen_from)
    SAVuC(3, effort="quick", random_state=0).fit(make_blobs(n=30)[0], aligned=10)
    assert len({name for name, _ in seen}) == 4
    assert all(number == {1} for _, number in seen)
