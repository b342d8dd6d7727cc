"""HDF5: MATLAB 7.3, AnnData and MuData, through the process that reads them."""

import io
import os
import re
import subprocess
import sys
import warnings

import numpy as np
import pytest
from scipy import sparse

from unaligned.datasets import DataFileError, read_view, read_views
from unaligned.datasets.readers import contents, hdf5

h5py = pytest.importorskip("h5py", reason="needs the extra 'io'")

TEXT = h5py.string_dtype()


@pytest.fixture
def in_process(monkeypatch):
    """Read in this process: quicker, and good enough for files that are sound."""
    from unaligned.datasets.readers import hdf5_worker

    def ask(kind, path, what, matrix=None):
        pipe = io.BytesIO(b"\n")
        pipe.seek(1)
        with h5py.File(path, "r") as file:
            worker = hdf5_worker.Worker(file, 1e9, 1e9)
            try:
                worker.write(getattr(worker, kind)(matrix or ""), pipe)
            except hdf5_worker.Complaint as complaint:
                raise DataFileError(str(complaint)) from None
            finally:
                worker.nowhere.close()
        pipe.seek(0)
        return hdf5._receive(pipe)

    monkeypatch.setattr(hdf5_worker.Worker, "still_alive", lambda _: None)
    monkeypatch.setattr(hdf5, "ask_worker", ask)


def write_frame(group, names, **columns):
    group.attrs["_index"] = "_index"
    group.create_dataset("_index", data=np.array(names, dtype=TEXT))
    group.attrs["column-order"] = np.array(list(columns), dtype=TEXT)
    for name, values in columns.items():
        if isinstance(values, dict):
            category = group.create_group(name)
            category.attrs["encoding-type"] = "categorical"
            category["codes"] = np.array(values["codes"], dtype=np.int8)
            category["categories"] = np.array(values["words"], dtype=TEXT)
        else:
            group[name] = values


def write_modality(group, X, names, **columns):
    if sparse.issparse(X):
        matrix = group.create_group("X")
        matrix.attrs["encoding-type"] = f"{X.format}_matrix"
        matrix.attrs["shape"] = X.shape
        for part in ("data", "indices", "indptr"):
            matrix[part] = getattr(X, part)
    else:
        group.create_dataset("X", data=X, chunks=(2, X.shape[1]), compression="gzip")
    write_frame(group.create_group("obs"), names, **columns)
    write_frame(group.create_group("var"), [f"g{i}" for i in range(X.shape[1])])


@pytest.fixture
def h5ad(tmp_path):
    path = tmp_path / "cells.h5ad"
    X = np.random.RandomState(0).normal(size=(5, 3)).astype(np.float32)
    with h5py.File(path, "w") as file:
        write_modality(
            file,
            X,
            [f"c{i}" for i in range(5)],
            kind={"codes": [0, 1, 1, -1, 0], "words": ["u", "v"]},
            depth=np.arange(5.0),
            note=np.array(["a", "é", "", "d", "e"], dtype=TEXT),
            strange=np.zeros((5, 2)),
        )
        del file["obs/strange"]
        file["obs"].create_group("strange")  # a kind of column that is not read
        file["obsm/X_pca"] = X[:, :2] * 2
    return path, X


def test_anndata_through_the_process(h5ad):
    path, X = h5ad
    view = read_view(path)
    np.testing.assert_array_equal(view.X, X)
    assert view.X.dtype == np.float32
    assert view.name == "cells"
    assert view.row_ids == ["c0", "c1", "c2", "c3", "c4"]
    assert view.feature_names == ["g0", "g1", "g2"]
    assert list(view.other_columns["kind"]) == ["u", "v", "v", None, "u"]
    assert list(view.other_columns["depth"]) == [0, 1, 2, 3, 4]
    assert list(view.other_columns["note"]) == ["a", "é", "", "d", "e"]
    assert "strange" not in view.other_columns


def test_names_as_anndata_writes_those_of_pandas_3(h5ad, in_process):
    path, X = h5ad
    with h5py.File(path, "r+") as file:
        for name in ("obs/_index", "var/_index", "obs/note", "obs/kind/categories"):
            texts = file[name][:]
            del file[name]
            group = file.create_group(name)
            group.attrs["encoding-type"] = "nullable-string-array"
            group["values"], group["mask"] = texts, np.zeros(len(texts), dtype=bool)
    view = read_view(path)
    np.testing.assert_array_equal(view.X, X)
    assert view.row_ids == ["c0", "c1", "c2", "c3", "c4"]
    assert view.feature_names == ["g0", "g1", "g2"]
    assert list(view.other_columns["kind"]) == ["u", "v", "v", None, "u"]
    assert list(view.other_columns["note"]) == ["a", "é", "", "d", "e"]
    with h5py.File(path, "r+") as file:
        del file["obs/_index/values"]
    with pytest.raises(DataFileError, match="no 'values' in /obs/_index"):
        read_view(path)


def test_anndata_by_choice(h5ad, in_process):
    path, X = h5ad
    np.testing.assert_array_equal(read_view(path, view="obsm/X_pca").X, X[:, :2] * 2)
    assert read_view(path, view="obsm/X_pca").feature_names is None
    assert read_view(path, id_column=False).row_ids is None
    assert read_view(path, id_column="depth").row_ids[:2] == ["0.0", "1.0"]
    for options, complaint in {
        "no 'X_umap' in /obsm": {"view": "obsm/X_umap"},
        "no column 'barcode'": {"id_column": "barcode"},
        "rows 1 and 2 have the same id 'v'": {"id_column": "kind"},
    }.items():
        with pytest.raises(DataFileError, match=options):
            read_view(path, **complaint)


def test_representation_and_layer(h5ad, tmp_path, in_process):
    path, X = h5ad
    with h5py.File(path, "a") as file:
        file["layers/counts"] = X + 1
    pca = read_view(path, use_rep="X_pca")
    np.testing.assert_array_equal(pca.X, X[:, :2] * 2)
    assert pca.feature_names is None
    layer = read_view(path, layer="counts")
    np.testing.assert_array_equal(layer.X, X + 1)
    assert layer.feature_names == ["g0", "g1", "g2"]
    np.testing.assert_array_equal(read_view(path, use_rep="X").X, X)
    with pytest.raises(
        DataFileError, match="no 'raw' in /layers, which holds 'counts'"
    ):
        read_view(path, layer="raw")
    with pytest.raises(DataFileError, match="not both"):
        read_view(path, layer="counts", use_rep="X_pca")
    cells, chromatin = write_mudata(tmp_path / "a.h5mu")
    with h5py.File(tmp_path / "a.h5mu", "a") as file:
        file["mod/rna/obsm/X_pca"] = cells * 3
        file["mod/atac/obsm/X_pca"] = chromatin * 3
    data = read_views(tmp_path / "a.h5mu", use_rep="X_pca")
    np.testing.assert_array_equal(data.Xs[1], chromatin * 3)


@pytest.mark.parametrize("form", ["csr", "csc"])
def test_sparse_anndata(tmp_path, in_process, form):
    X = sparse.random_array((6, 4), density=0.4, format=form, rng=0)
    with h5py.File(tmp_path / "a.h5ad", "w") as file:
        write_modality(file, X, list("abcdef"))
    view = read_view(tmp_path / "a.h5ad")
    assert view.X.format == "csr"
    np.testing.assert_array_equal(view.X.toarray(), X.toarray())


def write_mudata(path):
    rng = np.random.RandomState(0)
    X, Z = rng.normal(size=(4, 3)), rng.normal(size=(3, 2))
    with h5py.File(path, "w") as file:
        modalities = file.create_group("mod")
        modalities.attrs["mod-order"] = np.array(["rna", "atac"], dtype=TEXT)
        write_modality(modalities.create_group("atac"), Z, ["c3", "c9", "c0"])
        write_modality(modalities.create_group("rna"), X, ["c0", "c1", "c2", "c3"])
    return X, Z


def test_mudata_with_shared_names_as_pairs(tmp_path, in_process):
    X, Z = write_mudata(tmp_path / "a.h5mu")
    data = read_views(tmp_path / "a.h5mu")
    assert data.view_names == ["rna", "atac"]
    np.testing.assert_array_equal(data.Xs[0], X)
    np.testing.assert_array_equal(data.Xs[1], Z)
    assert data.aligned[0, 1].tolist() == [[0, 2], [3, 0]]
    np.testing.assert_array_equal(read_view(tmp_path / "a.h5mu", view="atac").X, Z)
    with pytest.raises(DataFileError, match="no modality 'protein'"):
        read_view(tmp_path / "a.h5mu", view="protein")


def write_numbered(path, **names):
    with h5py.File(path, "w") as file:
        modalities = file.create_group("mod")
        for name, rows in names.items():
            X = np.random.RandomState(0).normal(size=(len(rows), 2))
            write_modality(modalities.create_group(name), X, list(rows))
        modalities.attrs["mod-order"] = np.array([*names], dtype=TEXT)
    return path


def test_row_numbers_in_mudata_are_no_pairs(tmp_path, in_process):
    path = write_numbered(tmp_path / "a.h5mu", atac="0123", rna="01234")
    with pytest.warns(UserWarning, match="match_ids=True"):
        assert read_views(path).aligned is None
    said_so = read_views(path, match_ids=True).aligned
    assert said_so[0, 1].tolist() == [[0, 0], [1, 1], [2, 2], [3, 3]]


def test_numbers_that_somebody_chose_are_names(tmp_path, in_process):
    path = write_numbered(tmp_path / "a.h5mu", atac="31", rna="01234")
    assert read_views(path).aligned[0, 1].tolist() == [[0, 3], [1, 1]]


def test_genes_can_be_left_out(h5ad, in_process):
    path, X = h5ad
    view = read_view(path, exclude=["g1"])
    np.testing.assert_array_equal(view.X, X[:, [0, 2]])
    assert view.feature_names == ["g0", "g2"]
    np.testing.assert_array_equal(view.other_columns["g1"], X[:, 1])
    with pytest.raises(DataFileError, match=r"cells\.h5ad.*no column 'g7' to exclude"):
        read_view(path, exclude=["g7"])


@pytest.mark.heavy
@pytest.mark.filterwarnings("default")
def test_what_anndata_and_mudata_write(tmp_path, in_process):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        anndata = pytest.importorskip("anndata", reason="needs the extra 'scverse'")
        mudata = pytest.importorskip("mudata", reason="needs the extra 'scverse'")
        import pandas as pd

        rng = np.random.RandomState(0)
        obs = pd.DataFrame(
            {
                "kind": pd.Categorical(["a", "a", "b", "b", None]),
                "depth": rng.normal(size=5),
                "batch": list("xyzxy"),
            },
            index=[f"c{i}" for i in range(5)],
        )
        X = sparse.random(5, 4, density=0.5, format="csr", dtype=np.float32)
        rna = anndata.AnnData(X, obs)
        atac = anndata.AnnData(rng.normal(size=(3, 2)))
        atac.obs_names = ["c4", "new", "c0"]
        rna.write_h5ad(tmp_path / "rna.h5ad")
        mudata.MuData({"rna": rna, "atac": atac}).write(tmp_path / "both.h5mu")
    view = read_view(tmp_path / "rna.h5ad")
    np.testing.assert_array_equal(view.X.toarray(), X.toarray())
    assert view.row_ids == list(rna.obs_names)
    assert view.feature_names == list(rna.var_names)
    np.testing.assert_array_equal(view.other_columns["depth"], obs["depth"])
    assert list(view.other_columns["kind"]) == ["a", "a", "b", "b", None]
    assert list(view.other_columns["batch"]) == list("xyzxy")
    data = read_views(tmp_path / "both.h5mu")
    assert data.view_names == ["rna", "atac"]
    np.testing.assert_array_equal(data.Xs[1], atac.X)
    assert data.aligned[0, 1].tolist() == [[0, 2], [4, 0]]


# MATLAB 7.3


def write_matlab73(path):
    """What MATLAB's ``save(..., '-v7.3')`` makes of X, Y, S and a structure."""
    rng = np.random.RandomState(0)
    views = [rng.normal(size=(5, 3)), rng.normal(size=(5, 2))]
    S = sparse.random_array((5, 6), density=0.4, format="csc", rng=0)
    with h5py.File(path, "w", userblock_size=512) as file:

        def store(group, name, value, kind="double"):
            dataset = group.create_dataset(name, data=np.asarray(value).T)
            dataset.attrs["MATLAB_class"] = np.bytes_(kind)
            return dataset

        refs = file.create_group("#refs#")
        stored = [store(refs, f"v{i}", view) for i, view in enumerate(views)]
        cell = file.create_dataset("X", (2, 1), dtype=h5py.ref_dtype)
        cell.attrs["MATLAB_class"] = np.bytes_("cell")
        cell[:, 0] = [item.ref for item in stored]
        store(file, "Y", [[1], [2], [1], [2], [1]])
        group = file.create_group("S")
        group.attrs["MATLAB_class"] = np.bytes_("double")
        group.attrs["MATLAB_sparse"] = np.uint64(5)
        group["data"], group["ir"], group["jc"] = S.data, S.indices, S.indptr
        store(file.create_group("settings"), "k", [[2.0]])
        store(file, "note", [[ord(letter) for letter in "text"]], kind="char")
        empty = store(file, "nothing", [[0, 0]])
        empty.attrs["MATLAB_empty"] = np.uint8(1)
    with open(path, "r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")
    return views, S


def test_matlab73_through_the_process(tmp_path):
    views, _ = write_matlab73(tmp_path / "a.mat")
    data = read_views(tmp_path / "a.mat")
    for X, Z in zip(data.Xs, views, strict=True):
        np.testing.assert_array_equal(X, Z)
    assert list(data.other_columns[0]["y"]) == [1, 2, 1, 2, 1]


def test_all_variables_of_matlab73(tmp_path, in_process):
    views, S = write_matlab73(tmp_path / "a.mat")
    variables = hdf5.read_matlab73(tmp_path / "a.mat")
    np.testing.assert_array_equal(variables["S"].toarray(), S.toarray())
    np.testing.assert_array_equal(variables["X"][1], views[1])
    assert variables["settings.k"] == [[2]]
    assert variables["note"] == "text"
    assert variables["nothing"] is None


# What strangers send


def h5(path, build):
    with h5py.File(path, "w") as file:
        build(file)
    return path


def external_link(file):
    file["X"] = h5py.ExternalLink("/etc/passwd", "/")


def external_link_on_the_way(file):
    file["on"] = h5py.ExternalLink("/etc/passwd", "/")
    file["X"] = h5py.SoftLink("/on/the/way")


def many_circles(file):
    for i in range(20):
        file[f"X/again{i}"] = file.require_group("X")


def external_storage(file):
    file.create_dataset("X", (1, 8), "u1", external=[("/etc/passwd", 0, 8)])


def virtual(file):
    layout = h5py.VirtualLayout((2, 2), "f8")
    layout[:] = h5py.VirtualSource("other.h5", "X", (2, 2))
    file.create_virtual_dataset("X", layout)


def circle(file):
    file["X/mine"] = 1.0
    file["X/again"] = file["X"]


@pytest.mark.parametrize(
    ("build", "complaint"),
    [
        (external_link, "'X' is a link elsewhere"),
        (external_link_on_the_way, "link elsewhere"),
        (many_circles, "more than 10000 variables"),
        (external_storage, "lies in other files"),
        (virtual, "lies in other files"),
        (circle, "no table of numbers"),
        (lambda file: file.create_dataset("X", data=[[b"a"]]), "no table of numbers"),
        (lambda file: file.create_dataset("X", data=[1.0]), "no table of numbers"),
    ],
)
def test_tricks_lead_nowhere(tmp_path, in_process, build, complaint):
    path = h5(tmp_path / "a.mat", build)
    with pytest.raises(DataFileError, match=complaint):
        read_view(path)


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("obs/_index", np.array(["a", "b"], dtype=TEXT), "does not fit"),
        ("obs/_index", np.array(["a"] * 5, dtype=TEXT), "have the same id 'a'"),
        ("obs/_index", np.eye(2), "no list"),
        ("var/_index", np.array(["a"], dtype=TEXT), "does not fit"),
        ("obs/depth", np.arange(3.0), "does not fit"),
        ("obs/kind/codes", np.array([0, 1, 1, 5, 0], "i1"), "one that is not there"),
        ("X", np.arange(5.0), "has the shape"),
        ("X", np.array([[b"a"]]), "no array of numbers"),
        ("X", None, "no 'X' in /"),
        ("obs", np.arange(5.0), "old version of anndata"),
    ],
)
def test_anndata_that_does_not_fit_together(h5ad, in_process, name, content, complaint):
    path, _ = h5ad
    with h5py.File(path, "r+") as file:
        del file[name]
        if content is not None:
            file[name] = content
    with pytest.raises(DataFileError, match=complaint):
        read_view(path)


def test_sizes_are_checked_before_memory_is_taken(tmp_path, monkeypatch):
    path = tmp_path / "a.mat"
    with h5py.File(path, "w") as file:  # a file of a few kilobytes
        file.create_dataset("X", (10**8, 100), "f4", chunks=(1000, 100))
    monkeypatch.setattr(contents, "available_bytes", lambda: 1e9)
    with pytest.raises(DataFileError, match="would take 40 GB, and 1 GB of memory"):
        read_view(path)


@pytest.mark.parametrize("part", ["obs/_index", "var/_index", "obs/note"])
def test_texts_that_unpack_to_gigabytes(h5ad, monkeypatch, part):
    path, _ = h5ad
    monkeypatch.setattr(contents, "MOST_TEXT", 1 << 24)
    with h5py.File(path, "r+") as file:
        del file[part]
        long = np.bytes_(b"a" * 60_000)  # which stands for all that is not there
        file.create_dataset(part, (50_000,), long.dtype, chunks=(1,), fillvalue=long)
    assert path.stat().st_size < 200_000
    with pytest.raises(DataFileError, match="far more than the file"):
        read_view(path)


def test_names_that_are_merely_many(tmp_path):
    path = tmp_path / "cells.h5ad"
    with h5py.File(path, "w") as file:
        names = [f"cell {i} of a plate" for i in range(5000)]
        write_modality(file, np.ones((5000, 2)), names)
    assert read_view(path).row_ids == names


LITTLE = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (int(float(sys.argv[1])),) * 2)
from unaligned.datasets import read_view
print(read_view(sys.argv[2]).X.shape)
"""


@pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")
@pytest.mark.parametrize("gigabytes", [0.3, 0.6, 2])
def test_less_memory_than_the_worker_wants(h5ad, gigabytes):
    run = subprocess.run(
        [sys.executable, "-c", LITTLE, str(gigabytes * 1e9), h5ad[0]],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )
    if run.returncode == 0:
        assert run.stdout == "(5, 3)\n"
    else:
        said = run.stderr.splitlines()[-1]
        assert re.search(r"memory|Memory|failed to map", said), run.stderr


def test_an_endless_search_ends_the_worker_only(h5ad, monkeypatch):
    # Text lies in heaps; in one that claims another size, HDF5 2.0 searches for ever.
    path, _ = h5ad
    monkeypatch.setattr(hdf5, "PATIENCE", 1.0)
    content = bytearray(path.read_bytes())
    content[content.index(b"GCOL") + 8] = 255
    path.write_bytes(bytes(content))
    with pytest.raises(DataFileError, match=r"cells\.h5ad"):
        read_view(path)


@pytest.mark.parametrize(
    ("worker", "complaint"),
    [
        ("import os; os.kill(os.getpid(), 11)", "be started"),
        (
            "import os; print(flush=True); os.kill(os.getpid(), 11)",
            "crashes on it",
        ),
        ("", r"cannot be started \(it says nothing\)"),
        ("raise ImportError('no h5py')", r"started \(ImportError: no h5py\); .*ulimit"),
        ("print()", "crashes on it"),
        ("print('\\nno JSON')", "cannot be read as an AnnData file"),
        ('print(\'\\n{"arrays": [], "answer": [1]}\')', "cannot be read"),
        (
            'print(\'\\n{"arrays": [{"shape": [9], "dtype": "f8"}]}\'); exit("why.")',
            "why.",
        ),
    ],
)
def test_whatever_the_worker_does(h5ad, tmp_path, monkeypatch, worker, complaint):
    (tmp_path / "worker.py").write_text(worker)
    monkeypatch.setattr(hdf5, "WORKER", tmp_path / "worker.py")
    with pytest.raises(DataFileError, match=complaint):
        read_view(h5ad[0])


def test_a_file_that_is_none_at_all(tmp_path):
    (tmp_path / "a.h5ad").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))
    with pytest.raises(DataFileError, match="HDF5 library says"):
        read_view(tmp_path / "a.h5ad")
