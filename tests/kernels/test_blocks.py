import numpy as np
import pytest
from scipy import sparse

from unaligned.kernels.blocks import BLOCK_BYTES, row_blocks


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
