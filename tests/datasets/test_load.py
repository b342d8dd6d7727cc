"""Datasets by name, from files that are there."""

import hashlib

import numpy as np
import pytest
from scipy import sparse
from scipy.io import savemat

from unaligned.datasets import DataFileError, _load, load
from unaligned.datasets._registry import find_dataset, paper_datasets, plain


@pytest.fixture(autouse=True)
def no_cache_folder(tmp_path_factory, monkeypatch):
    """Neither the user's files nor the network."""
    empty = tmp_path_factory.mktemp("cache")
    monkeypatch.delenv("UNALIGNED_DATA", raising=False)
    monkeypatch.setattr("pooch.os_cache", lambda _: empty)


@pytest.fixture
def home(tmp_path):
    rng = np.random.RandomState(0)
    X = sparse.random_array((5, 7), density=0.4, format="csr", rng=rng)
    np.savez_compressed(
        tmp_path / "Small.npz",
        view0=rng.normal(size=(5, 3)),
        view1_data=X.data,
        view1_indices=X.indices,
        view1_indptr=X.indptr,
        view1_shape=np.array(X.shape),
        view2=np.ones((5, 2), np.float16),
        view2_scale=np.float32(3),
        y=np.arange(5),
    )
    np.savez_compressed(
        tmp_path / "unpaired.npz",
        view0=np.eye(3),
        view1=np.eye(4),
        y_view0=np.arange(3),
        y_view1=np.arange(4),
    )
    return tmp_path


def cells(*matrices):
    cell = np.empty((1, len(matrices)), dtype=object)
    cell[0, :] = matrices
    return cell


def test_dense_sparse_and_scaled_views(home):
    data = load("small", home)
    assert [X.shape for X in data.Xs] == [(5, 3), (5, 7), (5, 2)]
    assert sparse.issparse(data.Xs[1])
    assert data.Xs[2].dtype == np.float32
    assert (data.Xs[2] == 3).all()
    assert data.view_names == ["view0", "view1", "view2"]
    np.testing.assert_array_equal(data.y, np.arange(5))
    assert "Small: 3 views" in data.DESCR
    assert data.filename == str(home / "Small.npz")


def test_unpaired_views_have_classes_of_their_own(home):
    data = load("unpaired", home)
    assert data.y is None
    assert [len(y) for y in data.ys] == [3, 4]


def test_names_of_views_come_along(home):
    names = np.array(["image", "text"])
    np.savez(home / "named.npz", view0=np.eye(2), view1=np.eye(2), view_names=names)
    data = load("named", home)
    assert data.view_names == ["image", "text"]
    assert data.y is None


def test_matlab_files_have_their_classes_counted_from_zero(home):
    X, y = np.random.RandomState(0).normal(size=(4, 2)), np.array([[3], [1], [3], [7]])
    savemat(home / "mine.mat", {"X": cells(X, 2 * X), "Y": y})
    data = load("MINE", home)
    np.testing.assert_array_equal(data.y, [1, 0, 1, 2])
    np.testing.assert_array_equal(data.Xs[1], 2 * X)


def test_the_environment_names_the_folder(home, monkeypatch):
    monkeypatch.setenv("UNALIGNED_DATA", str(home))
    assert len(load("Small").Xs) == 3
    (home / "data").mkdir()
    (home / "Small.npz").rename(home / "data" / "Small.npz")
    assert len(load("Small").Xs) == 3


def test_digits_need_no_file():
    assert len(load("Digits").ys) == 4


def test_a_missing_file_is_named_with_the_way_out(home):
    with pytest.raises(FileNotFoundError) as error:
        load("Nothing", home)
    for part in (
        "Nothing.npz",
        str(home),
        "UNALIGNED_DATA",
        "Small, unpaired",
        "digits",
        "CIFAR-10",
    ):
        assert part in str(error.value)


def test_pickled_objects_are_not_read(home):
    np.savez(home / "evil.npz", view0=np.array([{"a": 1}], dtype=object))
    with pytest.raises(DataFileError, match=r"evil.npz.*neither numbers nor text"):
        load("evil", home)


def test_a_file_without_views_is_named(home):
    np.savez(home / "other.npz", X=np.arange(2))
    with pytest.raises(DataFileError, match=r"other.npz.*no table.*'X'"):
        load("other", home)


def test_sparse_indices_outside_the_matrix_are_refused(home):
    np.savez(
        home / "broken.npz",
        view0_data=np.ones(1),
        view0_indices=np.array([99]),
        view0_indptr=np.array([0, 1]),
        view0_shape=np.array([1, 3]),
    )
    with pytest.raises(DataFileError, match="sparse matrix in it is damaged"):
        load("broken", home)


# The datasets of the paper


def test_the_registry_has_the_shapes_of_the_paper():
    from unaligned.benchmark import published_tables

    table3 = published_tables()["table3_datasets"]
    assert set(paper_datasets()) == set(table3)
    for name, dataset in paper_datasets().items():
        assert (dataset.rows, dataset.classes) == (table3[name]["n"], table3[name]["k"])
        assert len(dataset.columns) == table3[name]["v"]
        if name != "Reuters":  # published with 100 dimensions for each language
            assert dataset.columns == table3[name]["d"]
        assert all(url.startswith("https://") for url in dataset.urls)
        assert not dataset.urls or dataset.sha256 or dataset.git_blob
        assert dataset.licence


def test_spellings_lead_to_one_dataset_each():
    for name, spellings in {
        "ProteinFold": ["proteinfold", "Protein Fold", "PROTEIN_FOLD"],
        "Wiki": ["wiki", "Wiki_fea", "wikipedia"],
        "Caltech101-20": ["caltech101-20", "Caltech101_20", "caltech 101-20"],
        "Caltech-101": ["caltech101", "Caltech-101", "caltech101-all"],
        "Reuters": ["reuters", "Reuters_100D"],
        "CIFAR-10": ["cifar10", "cifar-10", "Cifar 10"],
    }.items():
        assert {find_dataset(spelling).name for spelling in spellings} == {name}
    every = [s for dataset in paper_datasets().values() for s in dataset.spellings]
    assert len(every) == len(set(every))
    assert find_dataset("Reuters-600") is None
    assert plain("Café_au-lait 2") == "caféaulait2"


def test_a_local_file_stands_for_a_dataset_that_cannot_be_fetched(home):
    with pytest.raises(FileNotFoundError) as error:
        load("cifar10", home)
    for part in ("Cifar10.mat", str(home), "not published", "load_digits_views"):
        assert part in str(error.value)
    views = [np.eye(4), np.ones((4, 2)), np.ones((4, 3))]
    savemat(home / "Cifar10.mat", {"X": cells(*views), "Y": np.arange(4)})
    with pytest.warns(UserWarning, match="called CIFAR-10 but is not the paper's"):
        data = load("CIFAR-10", home)
    assert [X.shape for X in data.Xs] == [(4, 4), (4, 2), (4, 3)]
    assert "Licence" in data.DESCR
    np.savez(home / "caltech-101.npz", view0=np.eye(2))
    with pytest.warns(UserWarning, match="Caltech-101"):
        assert len(load("Caltech101", home).Xs) == 1


@pytest.fixture
def small_wiki(monkeypatch):
    """A function that puts a Wiki of 3 rows into the registry, under a checksum."""
    entry = dict(vars(paper_datasets()["Wiki"]), rows=3, columns=[2, 1], urls=[])

    def pin(**checksums):
        dataset = type(paper_datasets()["Wiki"])(**{**entry, **checksums})
        known = {**paper_datasets(), "Wiki": dataset}
        monkeypatch.setattr(
            "unaligned.datasets._registry.paper_datasets", lambda: known
        )

    return pin


@pytest.mark.parametrize("pinned", ["sha256", "git_blob"])
def test_a_published_file_is_known_by_its_checksum(home, small_wiki, pinned):
    path = home / "Wiki_fea.mat"
    X = np.arange(6.0).reshape(3, 2)
    savemat(path, {"X": cells(X, X[:, :1]), "Y": np.array([1, 2, 1])})
    content = path.read_bytes()
    checksums = {
        "sha256": hashlib.sha256(content).hexdigest(),
        "git_blob": hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest(),
    }
    small_wiki(**{"sha256": None, pinned: checksums[pinned]})
    data = load("wiki", home)
    np.testing.assert_array_equal(data.Xs[0], X)
    assert data.view_names == ["image SIFT", "text LDA"]
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(DataFileError, match="not the Wiki that was published"):
        load("wiki", home)


def test_git_blob_ids_are_gits_own(tmp_path):
    # `echo hello | git hash-object --stdin` says so.
    file = tmp_path / "hello"
    file.write_bytes(b"hello\n")
    entry = dict(vars(paper_datasets()["Reuters"]))
    entry["git_blob"] = "ce013625030ba8dba906f756967f9e9ca394464a"
    dataset = type(paper_datasets()["Reuters"])(**entry)
    assert _load.checksum_matches(dataset, file)


def test_real_files(shared):
    for name in ("ProteinFold", "Reuters-600", "Wiki"):
        data = load(name, shared)
        assert all(X.shape[0] == len(data.y) for X in data.Xs)
    assert load("PBMC-RNA-ATAC-unpaired", shared).y is None
