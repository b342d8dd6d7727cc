import numpy as np
import pytest
from scipy import sparse

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
