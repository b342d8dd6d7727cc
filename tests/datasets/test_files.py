import numpy as np
import pytest
from scipy import sparse

from unaligned.datasets import load


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


def test_dense_sparse_and_scaled_views(home):
    data = load("small", home)
    assert [X.shape for X in data.Xs] == [(5, 3), (5, 7), (5, 2)]
    assert sparse.issparse(data.Xs[1])
    assert data.Xs[2].dtype == np.float32
    assert (data.Xs[2] == 3).all()
    assert data.view_names == ["view0", "view1", "view2"]
    np.testing.assert_array_equal(data.y, np.arange(5))
    assert "Small: 3 views" in data.DESCR


def test_unpaired_views_have_classes_of_their_own(home):
    data = load("unpaired", home)
    assert data.y is None
    assert [len(y) for y in data.ys] == [3, 4]


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
        load("Wiki", home)
    for part in ("Wiki.npz", str(home), "UNALIGNED_DATA", "Small, unpaired", "digits"):
        assert part in str(error.value)


def test_pickled_objects_are_not_read(home):
    np.savez(home / "evil.npz", view0=np.array([{"a": 1}], dtype=object))
    with pytest.raises(ValueError, match="allow_pickle=False"):
        load("evil", home)


def test_a_file_without_views_is_named(home):
    np.savez(home / "other.npz", X=np.eye(2))
    with pytest.raises(ValueError, match=r"other.npz holds no view.*\['X'\]"):
        load("other", home)


def test_sparse_indices_outside_the_matrix_are_refused(home):
    np.savez(
        home / "broken.npz",
        view0_data=np.ones(1),
        view0_indices=np.array([99]),
        view0_indptr=np.array([0, 1]),
        view0_shape=np.array([1, 3]),
    )
    with pytest.raises(ValueError, match="ind"):
        load("broken", home)


def test_real_files(shared):
    for name in ("ProteinFold", "Reuters-600", "Caltech101-20-recon"):
        data = load(name, shared)
        assert all(X.shape[0] == len(data.y) for X in data.Xs)
