from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import cdist

from unaligned import metrics
from unaligned.metrics import shared_spaces

# Whole numbers, so that many rows are exactly as far as others.
spaces = st.tuples(st.integers(2, 9), st.integers(1, 3)).flatmap(
    lambda shape: st.tuples(
        *[arrays(np.float64, shape, elements=st.integers(-2, 2))] * 2
    )
)


@given(spaces, st.integers(1, 20))
def test_foscttm_counts_rows_that_are_closer(pair, block):
    A, B = pair
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shared_spaces, "BLOCK", block)
        found = metrics.foscttm(A, B)
    D, n = cdist(A, B, "sqeuclidean"), len(A)
    shares = []
    for table in (D, D.T):
        for i, row in enumerate(table):
            rivals = np.delete(row, i)
            closer = np.mean(rivals < row[i])
            shares.append(closer + np.mean(rivals == row[i]) / 2)
    assert found == pytest.approx(np.mean(shares))
    assert len(shares) == 2 * n


@settings(max_examples=50)
@given(spaces)
def test_ranks_are_means_over_all_orders_of_rows_that_tie(pair):
    A, B = pair
    D = cdist(A, B, "sqeuclidean")
    top1, ranks, reciprocals = [], [], []
    for i, row in enumerate(D):
        closer, tied = np.sum(row < row[i]), np.flatnonzero(row == row[i])[:5]
        if np.sum(row == row[i]) > 5:
            return  # too many orders to go through
        places = [closer + 1 + order.index(i) for order in permutations(tied.tolist())]
        top1.append(np.mean(np.array(places) == 1))
        ranks.append(np.mean(places))
        reciprocals.append(np.mean(1 / np.array(places)))
    found = metrics.retrieval_ranks(A, B)
    assert found["top1"] == pytest.approx(np.mean(top1))
    assert found["mean_rank"] == pytest.approx(np.mean(ranks))
    assert found["mean_reciprocal_rank"] == pytest.approx(np.mean(reciprocals))


@pytest.mark.parametrize("n", [2, 7, 100])
def test_chance_of_ranks_is_that_of_a_random_order(n):
    found = metrics.retrieval_ranks(np.zeros((n, 2)), np.zeros((n, 2)))
    places = 1 + np.arange(n)
    for name, values in {
        "top1": places == 1,
        "mean_rank": places,
        "mean_reciprocal_rank": 1 / places,
    }.items():
        assert found[f"chance_{name}"] == pytest.approx(np.mean(values))
        assert found[name] == pytest.approx(np.mean(values))  # all rows tie


def test_one_place_for_all_is_no_merit_and_reversed_is_worse():
    rng = np.random.RandomState(0)
    A = rng.normal(size=(200, 3))
    assert metrics.foscttm(A, A) == 0
    assert metrics.foscttm(A, np.ones((200, 3))) == pytest.approx(0.5)
    assert metrics.foscttm(A, -A) > 0.7
    # Far from the origin, where products of float64 lose digits.
    assert metrics.foscttm(A + 1e6, A + 1e6) == 0
    noisy = A + 0.1 * rng.normal(size=A.shape)
    one = metrics.retrieval_ranks(A, noisy)
    assert 0.5 < one["top1"] < one["mean_reciprocal_rank"] < 1
    single = metrics.foscttm(A.astype(np.float32), noisy.astype(np.float32))
    assert single == pytest.approx(metrics.foscttm(A, noisy), abs=1e-5)


@settings(max_examples=50)
@given(st.data())
def test_labels_are_carried_by_the_vote_of_the_nearest(data):
    # Distinct distances: no vote hangs on which of two equal rows is nearer.
    n_a, n_b, k = (data.draw(st.integers(*ends)) for ends in ((5, 12), (1, 6), (1, 5)))
    rng = np.random.RandomState(data.draw(st.integers(0, 10_000)))
    A, B = rng.normal(size=(n_a, 2)), rng.normal(size=(n_b, 2))
    y_a, y_b = rng.randint(3, size=n_a), rng.randint(3, size=n_b)
    hits = 0
    for b, y in zip(B, y_b, strict=True):
        nearest = sorted(range(n_a), key=lambda i: np.sum((A[i] - b) ** 2))[:k]
        hits += np.bincount(y_a[nearest]).argmax() == y
    assert metrics.label_transfer_accuracy(A, y_a, B, y_b, k) == hits / n_b


def test_chance_of_carried_labels_is_the_commonest_class():
    y_a, y_b = np.array([2, 2, 2, 0]), np.array([0, 2, 1, 2])
    assert metrics.label_transfer_chance(y_a, y_b) == 0.5
    A = np.zeros((4, 1))
    assert metrics.label_transfer_accuracy(A, y_a, A, y_b, 4) == 0.5


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: metrics.foscttm(np.eye(3), np.eye(2)), r"shape \(3, 3\) and B \(2, 2"),
        (lambda: metrics.retrieval_ranks([[1]], [[1]]), "with 2 rows or more"),
        (
            lambda: metrics.label_transfer_accuracy(np.eye(3), [0, 1], np.eye(3), [0]),
            r"y_a has shape \(2,\), but A has 3 rows",
        ),
        (
            lambda: metrics.label_transfer_accuracy(
                np.eye(3), [0, 1, 2], np.eye(3), [0, 1, 2]
            ),
            "n_neighbors is 5",
        ),
    ],
)
def test_rows_that_do_not_fit_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
