"""Parts of a view, against the whole."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from unaligned.kernels import blocks
from unaligned.kernels.devices import Cores
from unaligned.pavuc.sweep import cut, parts_of, sum_moments_side_by_side


def test_all_rows_of_a_view_are_the_view_itself():
    X = sparse.random_array((6, 3), density=0.5, format="csr", random_state=0)
    assert cut(X, slice(0, 6)) is X
    for some in (slice(0, 4), slice(1, 6)):
        part = cut(X, some)
        assert_array_equal(part.toarray(), X.toarray()[some])


def test_moments_of_all_parts_are_small_beside_their_view():
    X = np.broadcast_to(np.float32(0), (5000, 40_000))
    parts = parts_of(X, 100)
    assert len(parts) * 8 * 40_000 * 100 <= X.nbytes / 2
    # Few anchors leave little behind, and there is work for more threads.
    assert len(parts_of(X, 1)) > len(parts)


def test_parts_add_up_to_the_whole(monkeypatch):
    rng = np.random.RandomState(0)
    Xs, G = [rng.normal(size=(150, d)) for d in (3, 5)], rng.uniform(size=(150, 4))
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 1)  # blocks of 64 rows
    monkeypatch.setattr(blocks, "PART_BYTES", 1)
    monkeypatch.setattr(blocks, "TIMES_ITS_SUMS", 0)
    assert len(parts_of(Xs[0], 4)) == 3
    found = sum_moments_side_by_side(Cores(2), Xs, [G, G])
    for X, moments in zip(Xs, found, strict=True):
        assert_allclose(moments, X.T @ G)
