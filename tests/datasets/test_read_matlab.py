"""MATLAB's files up to version 7: what SciPy writes, and what only MATLAB writes."""

import struct
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from scipy.io import loadmat, savemat

from unaligned.datasets import DataFileError, read_view, read_views
from unaligned.datasets.readers import matlab
from unaligned.datasets.readers.matlab import read_variables


def cells(*matrices, across=True):
    cell = np.empty((1, len(matrices)) if across else (len(matrices), 1), dtype=object)
    for i, matrix in enumerate(matrices):
        cell.flat[i] = matrix
    return cell


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("across", [False, True])
def test_a_cell_array_of_views_with_classes(tmp_path, compressed, across):
    rng = np.random.RandomState(0)
    X, Z = rng.normal(size=(5, 3)), sparse.random(5, 4, density=0.5, format="csc")
    content = {
        "X": cells(X, Z, across=across),
        "Y": np.array([[1], [2], [2], [3], [1]]),
    }
    savemat(tmp_path / "a.mat", content, do_compression=compressed)
    data = read_views(tmp_path / "a.mat")
    np.testing.assert_array_equal(data.Xs[0], X)
    assert data.Xs[0].flags.c_contiguous
    assert data.Xs[0].flags.writeable
    np.testing.assert_array_equal(data.Xs[1].toarray(), Z.toarray())
    assert data.view_names == ["X0", "X1"]
    assert list(data.other_columns[1]["y"]) == [1, 2, 2, 3, 1]


def test_features_by_samples_are_turned_round(tmp_path):
    X = np.random.RandomState(0).normal(size=(3, 5))
    savemat(tmp_path / "a.mat", {"fea": cells(X, X[:2]), "gt": np.arange(5.0)[:, None]})
    data = read_views(tmp_path / "a.mat")
    assert [Z.shape for Z in data.Xs] == [(5, 3), (5, 2)]
    np.testing.assert_array_equal(data.Xs[0], X.T)


def test_one_matrix_or_several(tmp_path):
    savemat(tmp_path / "one.mat", {"whatever": np.eye(3), "note": "text"})
    assert read_view(tmp_path / "one.mat").name == "one"
    savemat(tmp_path / "two.mat", {"X1": np.eye(3), "X2": np.ones((3, 2))})
    assert read_views(tmp_path / "two.mat").view_names == ["X1", "X2"]
    assert read_view(tmp_path / "two.mat", view="X2").X.shape == (3, 2)


def test_a_structure_is_looked_into(tmp_path):
    savemat(
        tmp_path / "a.mat", {"set": {"X": cells(np.eye(3), np.ones((3, 2))), "k": 2}}
    )
    assert [X.shape for X in read_views(tmp_path / "a.mat").Xs] == [(3, 3), (3, 2)]


def test_two_lists_of_views_leave_a_choice(tmp_path):
    lists = {"left": cells(np.eye(2)), "right": cells(np.eye(3))}
    savemat(tmp_path / "a.mat", lists)
    with pytest.raises(DataFileError, match="several lists of views"):
        read_views(tmp_path / "a.mat")
    assert read_view(tmp_path / "a.mat", view="right").X.shape == (3, 3)


NUMBERS = [np.float64, np.float32, np.int8, np.uint8, np.int16, np.uint16, np.int32]
NUMBERS += [np.uint32, np.int64, np.uint64, np.complex128]


@given(
    st.lists(
        st.sampled_from(NUMBERS).flatmap(
            lambda dtype: hnp.arrays(
                dtype, hnp.array_shapes(min_dims=2, max_dims=3, min_side=0, max_side=5)
            )
        ),
        min_size=1,
        max_size=4,
    ),
    st.booleans(),
)
def test_numbers_are_those_that_scipy_reads(tmp_path_factory, arrays, compressed):
    path = tmp_path_factory.mktemp("mat") / "a.mat"
    named = {f"v{i}": array for i, array in enumerate(arrays)}
    savemat(path, {**named, "all": cells(*arrays)}, do_compression=compressed)
    ours, theirs = read_variables(path.read_bytes()), loadmat(path)
    for i, name in enumerate(named):
        assert ours[name].dtype == theirs[name].dtype
        np.testing.assert_array_equal(ours[name], theirs[name])
        np.testing.assert_array_equal(ours["all"][i], theirs["all"][0, i])


def element(kind, content, order="<"):
    padding = bytes(-len(content) % 8) if kind != 15 else b""
    return struct.pack(order + "II", kind, len(content)) + content + padding


def matrix(class_, dims, *parts, name=b"X", flags=0, order="<"):
    head = element(6, struct.pack(order + "II", class_ | flags, 0), order)
    head += element(5, struct.pack(f"{order}{len(dims)}i", *dims), order)
    if len(name) <= 4:
        small = struct.pack(order + "I", len(name) << 16 | 1)
        head += small + name.ljust(4, b"\0")
    else:
        head += element(1, name, order)
    return element(14, head + b"".join(parts), order)


def mat_file(*elements, order="<"):
    mark = b"\x00\x01IM" if order == "<" else b"\x01\x00MI"
    return b"MATLAB 5.0 MAT-file".ljust(124) + mark + b"".join(elements)


@pytest.mark.parametrize("order", ["<", ">"])
def test_whole_numbers_in_fewer_bytes_and_either_byte_order(order):
    # MATLAB stores doubles that are whole in the smallest type that holds them.
    values = np.array([1, 2, 3, 4, 5, 600], dtype=order + "i2")
    file = mat_file(
        matrix(6, (2, 3), element(3, values.tobytes(), order), order=order), order=order
    )
    X = read_variables(file)["X"]
    assert X.dtype == np.float64
    np.testing.assert_array_equal(X, [[1, 3, 5], [2, 4, 600]])


def test_reserved_room_in_sparse_matrices_is_left_out():
    rows = struct.pack("<4i", 0, 2, 99, 99)  # two are filled
    starts, values = struct.pack("<3i", 0, 1, 2), struct.pack("<4d", 5, 6, 99, 99)
    parts = [element(5, rows), element(5, starts), element(9, values)]
    X = read_variables(mat_file(matrix(5, (3, 2), *parts)))["X"]
    np.testing.assert_array_equal(X.toarray(), [[5, 0], [0, 0], [0, 6]])


def test_functions_objects_and_empty_cells_do_no_harm():
    eye = element(9, np.eye(2).tobytes())
    file = mat_file(
        matrix(16, (1, 1), matrix(6, (2, 2), eye), name=b"run"),
        matrix(17, (1, 1), b"anything at all.", name=b"opaque"),
        matrix(3, (1, 1), element(1, b"name"), name=b"thing"),
        matrix(1, (1, 2), element(14, b""), matrix(6, (2, 2), eye), name=b"cell"),
        matrix(6, (2, 2), eye),
    )
    variables = read_variables(file)
    assert variables["run"] is variables["opaque"] is variables["thing"] is None
    assert variables["cell"][0].shape == (0, 0)
    np.testing.assert_array_equal(variables["X"], np.eye(2))


def nested(depth):
    inner = matrix(6, (1, 1), element(9, bytes(8)))
    for _ in range(depth):
        inner = matrix(1, (1, 1), inner)
    return mat_file(inner)


@pytest.mark.parametrize("depth", [3, 500, 5000])
def test_lists_in_lists_end_somewhere(tmp_path, depth):
    (tmp_path / "a.mat").write_bytes(nested(depth))
    with pytest.raises(DataFileError, match="no table of numbers"):
        read_view(tmp_path / "a.mat")


@pytest.mark.parametrize(
    "content",
    [
        matrix(6, (10**6, 10**6), element(9, bytes(8))),
        matrix(6, (2**31 - 1, 2**31 - 1, 2**31 - 1), element(9, bytes(8))),
        matrix(6, (-1, 2), element(9, bytes(8))),
        matrix(6, (1,), element(9, bytes(8))),
        matrix(6, (1, 1), struct.pack("<II", 9, 2**32 - 1)),
        matrix(6, (1, 1), element(14, bytes(8))),
        matrix(1, (2**31 - 1, 2**31 - 1)),
        matrix(2, (1, 1), element(5, struct.pack("<i", 0)), element(1, b"abc")),
        matrix(2, (2**30, 1), element(5, struct.pack("<i", 1)), element(1, b"abc")),
        matrix(5, (2**31 - 1, 1), *[element(5, struct.pack("<2i", 0, 0))] * 3),
        element(15, zlib.compress(bytes(8))),
        element(15, b"no stream"),
        b"\x0e\x00",
    ],
    ids=range(13),
)
def test_claims_that_the_file_does_not_hold(tmp_path, content):
    (tmp_path / "a.mat").write_bytes(mat_file(content))
    with pytest.raises(DataFileError, match=r"a\.mat"):
        read_view(tmp_path / "a.mat")


def test_packed_variables_larger_than_memory_are_refused(tmp_path, monkeypatch):
    savemat(tmp_path / "a.mat", {"X": np.zeros((3000, 1000))}, do_compression=True)
    assert (tmp_path / "a.mat").stat().st_size < 100_000
    for module in (matlab, "unaligned.datasets.readers.contents"):
        name = module if isinstance(module, str) else module.__name__
        monkeypatch.setattr(f"{name}.available_bytes", lambda: 8e6)
    with pytest.raises(DataFileError, match=r"0\.008 GB of memory are free"):
        read_view(tmp_path / "a.mat")


def test_files_of_other_versions_are_named(tmp_path):
    savemat(tmp_path / "a.mat", {"X": np.eye(2)}, format="4")
    with pytest.raises(DataFileError, match=r"save\(\.\.\., '-v7'\)"):
        read_view(tmp_path / "a.mat")
