"""Many threads and many processes that use one model."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

from tests.conftest import make_blobs
from unaligned import PAVuC, SAVuC

N_THREADS = 16
MODELS = {"PAVuC": PAVuC, "SAVuC": SAVuC}


def fitted(name):
    cls = MODELS[name]
    few = {"n_init": 1, "max_iter": 5, "tol": 1.0, "effort": "quick"}
    few = {key: value for key, value in few.items() if key in cls().get_params()}
    return cls(3, random_state=0, **few).fit(make_blobs()[0])


def labels_of(model, start):
    """Labels of some rows of every view."""
    Xs, _ = make_blobs()
    return [model.predict(X[start:], view=i) for i, X in enumerate(Xs)]


def fit_and_label(name):
    """For a process that has to do all by itself."""
    model = fitted(name)
    return [*model.view_labels_, *labels_of(model, 0)]


@pytest.mark.parametrize("name", MODELS)
def test_threads_that_share_a_model_get_the_answers_of_one(name):
    model = fitted(name)
    starts = [start % 7 for start in range(4 * N_THREADS)]
    expected = {start: labels_of(model, start) for start in set(starts)}
    fresh = fitted(name)  # nothing of it has been used yet
    with ThreadPoolExecutor(N_THREADS) as threads:
        answers = list(threads.map(lambda start: labels_of(fresh, start), starts))
        single = list(threads.map(lambda _: fresh.single_view_labels_, starts))
    for start, answer in zip(starts, answers, strict=True):
        for one, other in zip(expected[start], answer, strict=True):
            np.testing.assert_array_equal(one, other)
    for labels in single:
        for one, other in zip(labels, model.single_view_labels_, strict=True):
            np.testing.assert_array_equal(one, other)


def test_threads_can_fit_side_by_side():
    expected = fit_and_label("PAVuC")
    with ThreadPoolExecutor(4) as threads:
        for answer in threads.map(fit_and_label, ["PAVuC"] * 8):
            for one, other in zip(expected, answer, strict=True):
                np.testing.assert_array_equal(one, other)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")  # Python 3.12 and on
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_however_they_start(method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {method} on this system")
    expected = fit_and_label("PAVuC")  # threads of ours are alive when it forks
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(2, mp_context=context) as workers:
        for answer in workers.map(fit_and_label, ["PAVuC"] * 2):
            for one, other in zip(expected, answer, strict=True):
                np.testing.assert_array_equal(one, other)
