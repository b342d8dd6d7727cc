"""NumPy's own files."""

import io
import zipfile

import numpy as np
import pytest
from scipy import sparse

from unaligned.datasets import DataFileError, read_view, read_views
from unaligned.datasets.readers import contents, numpy_files


def header(shape, descr="<f8"):
    """Beginning of an ``.npy`` file that may claim anything."""
    file = io.BytesIO()
    claims = {"descr": descr, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, claims)
    return file.getvalue()


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16, bool])
def test_an_array_is_a_view(tmp_path, dtype, order):
    X = np.asarray(np.random.RandomState(0).randint(0, 2, (5, 3)), dtype, order=order)
    np.save(tmp_path / "a.npy", X)
    view = read_view(tmp_path / "a.npy")
    assert view.X.dtype == dtype
    np.testing.assert_array_equal(view.X, X)
    assert view.name == "a"
    assert type(view.X) is np.ndarray


def test_an_array_can_stay_on_disk(tmp_path):
    np.save(tmp_path / "a.npy", np.eye(3))
    X = read_view(tmp_path / "a.npy", mmap=True).X
    assert isinstance(X, np.memmap)
    assert not X.flags.writeable


@pytest.mark.parametrize(
    "array", [np.arange(3), np.zeros((2, 2, 2)), np.array([["a"]]), np.array(1.0)]
)
def test_other_arrays_are_refused(tmp_path, array):
    np.save(tmp_path / "a.npy", array)
    with pytest.raises(DataFileError, match=r"a\.npy.*table of numbers"):
        read_view(tmp_path / "a.npy")


def test_pickles_are_refused(tmp_path):
    np.save(tmp_path / "a.npy", np.array([[print]], dtype=object))
    with pytest.raises(DataFileError):
        read_view(tmp_path / "a.npy")


@pytest.mark.parametrize("shape", [(10**6, 10**6), (2**62, 4), (3, 3), (-1, 2)])
def test_shapes_that_the_file_cannot_hold_are_refused(tmp_path, shape):
    (tmp_path / "a.npy").write_bytes(header(shape) + bytes(16))
    with pytest.raises(DataFileError, match=r"a\.npy"):
        read_view(tmp_path / "a.npy")


def test_arrays_larger_than_memory_are_refused(tmp_path, monkeypatch):
    np.save(tmp_path / "a.npy", np.zeros((1000, 1000)))
    monkeypatch.setattr(contents, "available_bytes", lambda: 1e6)
    with pytest.raises(DataFileError, match=r"would take 0\.008 GB, and 0\.001 GB"):
        read_view(tmp_path / "a.npy")
    assert read_view(tmp_path / "a.npy", mmap=True).X.shape == (1000, 1000)


def test_archives_of_matrices(tmp_path):
    np.savez(tmp_path / "one.npz", anything=np.eye(3))
    assert read_view(tmp_path / "one.npz").name == "one"
    np.savez(
        tmp_path / "two.npz", image=np.eye(3), text=np.ones((3, 2)), y=np.arange(3)
    )
    data = read_views(tmp_path / "two.npz")
    assert data.view_names == ["image", "text"]
    assert [list(others["y"]) for others in data.other_columns] == [[0, 1, 2]] * 2
    assert read_view(tmp_path / "two.npz", view="text").X.shape == (3, 2)
    with pytest.raises(DataFileError, match="holds 2 views; choose one with view="):
        read_view(tmp_path / "two.npz")
    with pytest.raises(DataFileError, match="no view 'sound'; the views are 'image'"):
        read_view(tmp_path / "two.npz", view="sound")


def test_named_views_can_be_chosen_by_either_name(tmp_path):
    names = np.array(["image", "text"])
    arrays = {"view0": np.eye(2), "view1": np.ones((2, 3)), "view_names": names}
    np.savez(tmp_path / "a.npz", **arrays)
    for name in ("view1", "text"):
        assert read_view(tmp_path / "a.npz", view=name).X.shape == (2, 3)


@pytest.mark.parametrize("form", ["csr", "csc"])
def test_sparse_matrices_of_scipy(tmp_path, form):
    X = sparse.random_array((6, 9), density=0.3, format=form, rng=0)
    sparse.save_npz(tmp_path / "a.npz", X)
    view = read_view(tmp_path / "a.npz")
    assert view.X.format == "csr"
    np.testing.assert_array_equal(view.X.toarray(), X.toarray())


def test_other_sparse_forms_get_the_way_out(tmp_path):
    X = sparse.random_array((6, 9), density=0.3, format="bsr", rng=0)
    sparse.save_npz(tmp_path / "a.npz", X)
    with pytest.raises(DataFileError, match=r"form 'bsr'; .*tocsr"):
        read_view(tmp_path / "a.npz")


GOOD = {"data": np.ones(2), "indices": np.array([0, 2]), "indptr": np.array([0, 1, 2])}


@pytest.mark.parametrize(
    "damage",
    [
        {"indices": np.array([0, 3])},
        {"indices": np.array([0, -1])},
        {"indices": np.array([0.0, 2.0])},
        {"indices": np.array([0])},
        {"indptr": np.array([0, 1, 3])},
        {"indptr": np.array([0, 5, 2])},
        {"indptr": np.array([1, 1, 2])},
        {"indptr": np.array([0, 2])},
        {"indptr": np.array([], dtype=int)},
        {"data": np.ones((1, 2))},
        {"data": np.array(["a", "b"])},
        {"shape": np.array([2])},
        {"shape": np.array([-2, 3])},
        {"shape": np.array([10**12, 3])},
    ],
)
def test_damaged_sparse_matrices_are_refused(tmp_path, damage):
    parts = {**GOOD, "shape": np.array([2, 3]), **damage}
    np.savez(
        tmp_path / "a.npz", **{f"view0_{name}": part for name, part in parts.items()}
    )
    with pytest.raises(DataFileError, match=r"sparse matrix|holds no numbers"):
        read_view(tmp_path / "a.npz")
    np.savez(tmp_path / "b.npz", format=np.array(b"csr"), **parts)
    with pytest.raises(DataFileError, match=r"sparse matrix|holds no numbers"):
        read_view(tmp_path / "b.npz")


def test_scales_must_fit(tmp_path):
    scale = np.array([[2.0, 3.0]])
    np.savez(tmp_path / "a.npz", view0=np.ones((3, 2)), view0_scale=scale)
    np.testing.assert_array_equal(read_view(tmp_path / "a.npz").X, [[2, 3]] * 3)
    for shape in [(2, 3, 2), (3, 5), (7, 1, 2)]:
        np.savez(tmp_path / "a.npz", view0=np.ones((3, 2)), view0_scale=np.ones(shape))
        with pytest.raises(DataFileError, match=r"scale|broadcast"):
            read_view(tmp_path / "a.npz")


def test_scipys_own_check_would_let_this_pass(tmp_path):
    # No values at all, and starts that point outside: converting it crashes SciPy.
    parts = {"indices": np.array([], dtype=int), "indptr": np.array([0, 7, 0])}
    shape = np.array([3, 2])
    arrays = {"format": np.array(b"csc"), "data": np.ones(0), "shape": shape, **parts}
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(DataFileError, match="sparse matrix in it is damaged"):
        read_view(tmp_path / "a.npz")


def test_zip_bombs_are_refused_before_they_are_unpacked(tmp_path, monkeypatch):
    np.savez_compressed(tmp_path / "bomb.npz", view0=np.zeros((2000, 2000)))
    assert (tmp_path / "bomb.npz").stat().st_size < 100_000
    monkeypatch.setattr(numpy_files, "available_bytes", lambda: 1e6)
    with pytest.raises(DataFileError, match="unpacks to 32000128 bytes"):
        read_view(tmp_path / "bomb.npz")


def test_declared_shapes_must_be_held(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("view0.npy", header((10**6, 10**6)) + bytes(8))
    with pytest.raises(
        DataFileError, match=r"declares float64 of shape .*holds 8 bytes"
    ):
        read_view(tmp_path / "a.npz")


def test_other_ways_of_packing_are_refused(tmp_path):
    # A decoder for LZMA takes as much memory as the file asks for.
    with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("view0.npy", header((1, 1)) + bytes(8))
    with pytest.raises(DataFileError, match="in a way that NumPy does not use"):
        read_view(tmp_path / "a.npz")


def test_paths_in_archives_lead_nowhere(tmp_path):
    folder = tmp_path / "inner"
    folder.mkdir()
    with zipfile.ZipFile(folder / "a.npz", "w") as archive:
        archive.writestr("../../evil.npy", header((1, 1)) + bytes(8))
        archive.writestr("/tmp/evil.npy", header((1, 2)) + bytes(16))
    data = read_views(folder / "a.npz")
    assert data.view_names == ["../../evil", "/tmp/evil"]
    assert [path.name for path in tmp_path.rglob("*")] == ["inner", "a.npz"]


def test_too_many_arrays_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(numpy_files, "MOST_ARRAYS", 3)
    np.savez(tmp_path / "a.npz", *[np.eye(2)] * 4)
    with pytest.raises(DataFileError, match="holds 4 arrays, over 3"):
        read_view(tmp_path / "a.npz")


def test_shapes_are_told_without_reading(tmp_path):
    X = sparse.random_array((5, 7), density=0.4, format="csr", rng=0)
    parts = {"data": X.data, "indices": X.indices, "indptr": X.indptr}
    parts = {f"view1_{name}": part for name, part in parts.items()}
    np.savez(tmp_path / "a.npz", view0=np.eye(5), view1_shape=np.array([5, 7]), **parts)
    assert numpy_files.npz_shapes(tmp_path / "a.npz") == [(5, 5), (5, 7)]
    (tmp_path / "b.npz").write_bytes(b"PK\x03\x04 no archive")
    assert numpy_files.npz_shapes(tmp_path / "b.npz") == []
