"""Geometry by map-reduce is that of memory, whatever the chunks."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from same_fit import chunked

from unaligned.distributed.geometry import (
    merged,
    read_geometry,
    split_view,
    take_rows,
)
from unaligned.kernels import blocks
from unaligned.savuc import geometry as in_memory

pytest.importorskip("dask.array", reason="needs the extra 'dask'")
pytestmark = pytest.mark.heavy


@pytest.fixture
def X(monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 2**10)
    monkeypatch.setattr(blocks, "PART_BYTES", 2**12)
    rng = np.random.RandomState(0)
    X = rng.normal(size=(900, 8)) * np.arange(1, 9) + 100
    X[:, 3] = 7  # constant
    return X.astype(np.float32)


def read(X, *chunks, n_directions=5):
    (view,) = chunked([X], *chunks)
    return read_geometry("0", split_view(0, view), n_directions)


def test_it_is_the_geometry_of_memory(X):
    expected = in_memory.read_geometry(X, 5, np.random.RandomState(0))
    found = read(X, 250)
    assert_allclose(found.mean, expected.mean, rtol=1e-6)
    assert_allclose(found.scale, expected.scale, rtol=1e-5)
    assert np.isinf(found.scale[3])
    assert_allclose(found.lengths, expected.lengths, rtol=1e-4)
    signs = np.sign((found.directions * expected.directions).sum(axis=0))
    assert_allclose(found.directions * signs, expected.directions, atol=1e-4)
    assert_allclose(found.points * signs, expected.points, atol=1e-4)
    assert found.points.dtype == np.float32


@pytest.mark.parametrize("rows", [1, 37, 450, 10_000])
def test_chunks_change_no_bit(X, rows):
    expected, found = read(X, 128), read(X, rows)
    for name in ("points", "mean", "scale", "center", "directions", "lengths"):
        assert_array_equal(getattr(found, name), getattr(expected, name))


def test_moments_of_parts_are_those_of_the_whole():
    X = np.random.RandomState(0).normal(size=(50, 3)) + 1e4
    parts = [X[:7], X[7:8], X[8:]]
    n, mean, squares = merged(
        [(len(p), p.mean(axis=0), len(p) * p.var(axis=0)) for p in parts]
    )
    assert n == 50
    assert_allclose(mean, X.mean(axis=0))
    assert_allclose(squares / n, X.var(axis=0))


def test_the_first_bad_value_is_named(X):
    X[700, 2] = np.nan
    with pytest.raises(ValueError, match="row 700"):
        read(X, 100)


@pytest.mark.parametrize("wanted", [[0], [899], [3, 4, 250, 251, 899], range(900)])
def test_some_rows_are_read(X, wanted):
    (view,) = chunked([X], 250)
    wanted = np.array(wanted)
    assert_array_equal(take_rows(split_view(0, view), wanted), X[wanted])
