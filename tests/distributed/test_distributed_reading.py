"""Files opened as views."""

import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from unaligned.distributed import PAVuC, open_views
from unaligned.kernels import blocks

pytest.importorskip("dask.array", reason="needs the extra 'dask'")
pytestmark = pytest.mark.heavy


@pytest.fixture
def X(monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 2**10)
    monkeypatch.setattr(blocks, "PART_BYTES", 2**12)
    return np.random.RandomState(0).normal(size=(1000, 4)).astype(np.float32)


def test_npy_is_cut_where_memory_sums_up(tmp_path, X):
    np.save(tmp_path / "a.npy", X)
    np.save(tmp_path / "b.npy", np.asfortranarray(X))
    views = open_views([tmp_path / "a.npy", str(tmp_path / "b.npy")], chunks=500)
    for view in views:
        assert view.chunks == ((512, 488), (4,))  # a part has 256 rows
        assert view.dtype == np.float32
        assert_array_equal(view.compute(), X)


def test_names_stay_and_bytes_make_chunks(tmp_path, X):
    np.save(tmp_path / "a.npy", X)
    views = open_views({"image": tmp_path / "a.npy"}, chunks="4 KiB")
    assert list(views) == ["image"]
    assert views["image"].chunks[0] == (256, 256, 256, 232)


def test_nothing_is_read_before_it_is_asked_for(tmp_path, X):
    np.save(tmp_path / "a.npy", X)
    (view,) = open_views([tmp_path / "a.npy"])
    np.save(tmp_path / "a.npy", 2 * X)
    assert_array_equal(view.compute(), 2 * X)


def test_zarr(tmp_path, X):
    zarr = pytest.importorskip("zarr", reason="needs zarr")
    stored = zarr.create_array(
        tmp_path / "a.zarr", shape=X.shape, chunks=(300, 4), dtype=X.dtype
    )
    stored[:] = X
    (view,) = open_views([tmp_path / "a.zarr"], chunks=500)
    assert view.chunks == ((512, 488), (4,))
    assert_array_equal(view.compute(), X)


def test_parquet_knows_its_lengths(tmp_path, X):
    pd = pytest.importorskip("pandas", reason="needs the extra 'io'")
    pytest.importorskip("pyarrow", reason="needs the extra 'io'")
    pytest.importorskip("dask.dataframe", reason="needs dask's data frames")
    folder = tmp_path / "a.parquet"
    folder.mkdir()
    for part, rows in enumerate(np.array_split(X, 3)):
        frame = pd.DataFrame(rows, columns=list("wxyz"))
        frame.to_parquet(folder / f"part{part}.parquet")
    (view,) = open_views([folder])
    assert view.chunks == ((334, 333, 333), (4,))
    assert view.dtype == np.float32
    assert_array_equal(view.compute(), X)


def test_complaints(tmp_path, X):
    with pytest.raises(TypeError, match=r"is one path\. Give a list"):
        open_views(tmp_path / "a.npy")
    with pytest.raises(ValueError, match=r"ends in none of .*read_csv"):
        open_views([tmp_path / "a.csv"])
    np.save(tmp_path / "flat.npy", X.ravel())
    with pytest.raises(ValueError, match="holds a 1-D array"):
        open_views([tmp_path / "flat.npy"])
    with pytest.raises(FileNotFoundError):
        open_views([tmp_path / "missing.npy"])


def test_without_dask_the_way_to_it_is_named(monkeypatch, X):
    monkeypatch.setitem(sys.modules, "dask", None)
    for use in (lambda: open_views(["a.npy"]), lambda: PAVuC(2).fit([X])):
        with pytest.raises(ImportError, match=r"pip install unaligned\[dask\]"):
            use()
