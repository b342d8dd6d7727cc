import numpy as np
import pytest
from scipy import sparse

from unaligned.kernels import blocks
from unaligned.kernels.blocks import BLOCK_BYTES, row_blocks, row_parts


@pytest.mark.parametrize("shape", [(1, 1), (1000, 3), (500, 3000), (70, 10**6)])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_blocks_cover_every_row_once(shape, kind):
    X = sparse.csr_array(shape) if kind == "sparse" else np.broadcast_to(0.0, shape)
    rows = np.concatenate([np.arange(shape[0])[block] for block in row_blocks(X)])
    np.testing.assert_array_equal(rows, np.arange(shape[0]))


def test_blocks_of_wide_rows_stay_small():
    X = np.broadcast_to(0.0, (10_000, 1000))
    sizes = [(block.stop - block.start) * 8000 for block in row_blocks(X)]
    assert max(sizes) <= BLOCK_BYTES


def test_stored_entries_of_a_sparse_matrix_count_with_their_columns():
    # 100 rows of 1000 numbers of 8 bytes, each with a column number of 4.
    indices = np.tile(np.arange(1000), 100)
    indptr = 1000 * np.arange(101)
    X = sparse.csr_array((np.ones(100_000), indices, indptr), shape=(100, 5000))
    assert next(row_blocks(X)) == slice(0, BLOCK_BYTES // 12_000)
    # A row of zeros counts as one number.
    nothing = sparse.csr_array((10**6, 3))
    assert next(row_blocks(nothing)) == slice(0, BLOCK_BYTES // 8)


class OnDevice:
    """What is asked of a tensor on a GPU."""

    shape = (10_000, 1000)
    dtype = np.dtype(np.float64)
    device = "cuda:0"


def test_a_gpu_shares_out_the_work_itself():
    here = np.broadcast_to(0.0, OnDevice.shape)
    assert row_parts(OnDevice(), n_sums=1) == [slice(0, 10_000)]
    assert len(row_parts(here, n_sums=1)) > 1
    assert len(list(row_blocks(OnDevice()))) < len(list(row_blocks(here)))


@pytest.mark.parametrize(("n_sums", "rows"), [(1, 64), (2048, 512), (2304, 576)])
def test_parts_are_large_beside_what_is_kept_of_them(monkeypatch, n_sums, rows):
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 2**13)  # 64 rows of 128 bytes
    monkeypatch.setattr(blocks, "PART_BYTES", 2**13)
    monkeypatch.setattr(blocks, "TIMES_ITS_SUMS", 4)
    found = row_parts(np.broadcast_to(0.0, (10_000, 16)), n_sums)
    assert rows == max(64, 4 * 8 * n_sums / 128)
    assert found[:2] == [slice(0, rows), slice(rows, 2 * rows)]
