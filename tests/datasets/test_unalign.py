import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from unaligned.datasets import unalign


@given(st.integers(1, 30), st.floats(0, 1), st.integers(0, 2**16))
def test_every_row_is_somewhere_and_the_aligned_ones_come_first(n, ratio, seed):
    X = np.arange(n, dtype=float)[:, None]
    shuffled = unalign([X, -X, 2 * X], np.arange(n) % 3, ratio, random_state=seed)
    assert shuffled.n_aligned == round(ratio * n)
    for factor, view, y, order in zip(
        (1, -1, 2), shuffled.Xs, shuffled.ys, shuffled.order, strict=True
    ):
        np.testing.assert_array_equal(np.sort(order), np.arange(n))
        np.testing.assert_array_equal(view[:, 0], factor * order)
        np.testing.assert_array_equal(y, order % 3)
        head = slice(shuffled.n_aligned)
        np.testing.assert_array_equal(order[head], shuffled.order[0][head])


def test_views_are_shuffled_independently():
    X = np.arange(1000.0)[:, None]
    order = unalign([X, X], random_state=0).order
    assert np.mean(order[0] == order[1]) < 0.02


def test_sparse_views_and_no_classes():
    X = sparse.eye_array(5, format="csr")
    shuffled = unalign([X, X], random_state=0)
    assert shuffled.ys is None
    np.testing.assert_array_equal(shuffled.Xs[1].toarray().argmax(1), shuffled.order[1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"ratio": 1.5}, "ratio=1.5 must be between 0 and 1"),
        ({"y": [0, 1]}, "y has 2 entries, but the views have 3 rows"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        unalign([np.eye(3), np.eye(3)], **arguments)


def test_views_must_be_aligned_to_begin_with():
    with pytest.raises(ValueError, match="view 0: 3, view 1: 2"):
        unalign([np.eye(3), np.eye(2)])
