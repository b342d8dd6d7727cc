import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import NearestNeighbors

from tests.conftest import make_blobs
from unaligned import Alignment, PAVuC, SAVuC, baselines
from unaligned.report import maps
from unaligned.report.maps import draw_maps, map_view, rotate, rows_to_draw

NEEDS_TORCH = ("CPMN", "MvCLN", "PVC", "SMILE", "SURE")
ALL = [
    pytest.param(cls, marks=pytest.mark.heavy if cls.__name__ in NEEDS_TORCH else ())
    for cls in [PAVuC, *(getattr(baselines, name) for name in baselines.__all__)]
]


def share_of_kept_neighbors(X, drawn, y):
    """Share of rows whose nearest neighbour on the map is of their class."""
    near = NearestNeighbors(n_neighbors=2).fit(drawn).kneighbors(drawn)[1][:, 1]
    return np.mean(y[near] == y)


def test_alike_rows_lie_together():
    (X, *_), y = make_blobs(n=90)
    drawn = map_view(X)
    assert drawn.dtype == np.float32
    assert np.linalg.norm(drawn, axis=1).max() <= 1 + 1e-6
    assert share_of_kept_neighbors(X, drawn, y) == 1


def test_more_rows_than_landmarks_go_beside_them(monkeypatch):
    monkeypatch.setattr(maps, "N_LANDMARKS", 60)
    (X, *_), y = make_blobs(n=600)
    assert share_of_kept_neighbors(X, map_view(X), y) == 1


def test_the_same_rows_give_the_same_map():
    (X, *_), _ = make_blobs(n=80)
    np.testing.assert_array_equal(map_view(X), map_view(X.copy()))


@pytest.mark.parametrize(
    "X",
    [
        np.ones((40, 3)),  # no variance at all
        np.arange(40.0)[:, None],  # one column
        np.repeat(np.eye(4), 10, axis=0),  # rows repeated
        np.eye(3),  # too few rows for t-SNE
        np.ones((1, 5)),
        sparse.random(50, 30, density=0.2, format="csr", random_state=0),
        sparse.csr_matrix(np.eye(2)),
        np.random.RandomState(0).normal(size=(50, 200)).astype(np.float32),
    ],
)
def test_odd_views_have_maps(X):
    drawn = map_view(X)
    assert drawn.shape == (X.shape[0], 2)
    assert np.isfinite(drawn).all()


def test_turning_finds_a_mirrored_and_rotated_map():
    rng = np.random.RandomState(0)
    template = rng.normal(size=(30, 2))
    order = rng.permutation(30)
    angle = 0.7
    rotation = np.array(
        [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    )
    drawn = (template @ rotation * [1, -1])[order]
    pairs = np.column_stack([order, np.arange(30)])
    np.testing.assert_allclose(rotate(drawn, template, pairs), template[order])


def test_views_that_are_not_trusted_are_not_turned(blobs):
    rows, n = [np.arange(60)] * 3, np.ones(60)
    alignment = Alignment(0, rows, [n] * 3, np.array([1, 1, 0.2]))
    drawn = draw_maps(blobs[0], alignment)
    np.testing.assert_array_equal(drawn[0], map_view(blobs[0][0]))
    np.testing.assert_array_equal(drawn[2], map_view(blobs[0][2]))
    own = map_view(blobs[0][1])
    assert not np.allclose(drawn[1], own)
    np.testing.assert_allclose(
        np.linalg.norm(drawn[1], axis=1), np.linalg.norm(own, axis=1), rtol=1e-5
    )


@pytest.mark.parametrize("cls", ALL)
def test_every_estimator_has_something_to_draw(cls, blobs):
    model = cls(3, random_state=0)
    few = ("max_iter", "n_restarts")
    steps = [p for p in model.get_params() if p in few or "epochs" in p]
    model.set_params(**dict.fromkeys(steps, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(blobs[0], aligned=20)
    rows, what = rows_to_draw(model)
    assert [X.shape[0] for X in rows] == [60] * 3
    assert what != "the views"


def test_savuc_kept_its_views_and_given_views_come_first(blobs):
    model = SAVuC(3, effort="quick", random_state=0).fit(blobs[0])
    rows, what = rows_to_draw(model)
    assert what == "the views"
    np.testing.assert_array_equal(rows[1], blobs[0][1])
    rows, what = rows_to_draw(model, [2 * X for X in blobs[0]])
    np.testing.assert_array_equal(rows[1], 2 * blobs[0][1])


def test_an_embedding_comes_in_each_views_own_order(blobs):
    model = baselines.FPMVSCAG(3, random_state=0)
    order = np.random.RandomState(0).permutation(60)
    Xs = [blobs[0][0], blobs[0][1][order]]
    model.fit(Xs, aligned={(0, 1): np.column_stack([order, np.arange(60)])})
    (first, second), _ = rows_to_draw(model)
    np.testing.assert_array_equal(second, first[order])


def test_views_of_another_size_are_named(blobs):
    model = PAVuC(3, max_iter=2, random_state=0).fit(blobs[0])
    with pytest.raises(ValueError, match="holds 2 views, but PAVuC knows 3"):
        rows_to_draw(model, blobs[0][:2])
    with pytest.raises(ValueError, match="View 1 of Xs has 59 rows, but it had 60"):
        rows_to_draw(model, [blobs[0][0], blobs[0][1][:-1], blobs[0][2]])


def test_an_alignment_needs_views(blobs):
    alignment = Alignment(0, [np.arange(60)] * 2, [np.ones(60)] * 2, np.ones(2))
    with pytest.raises(ValueError, match="Alignment holds nothing"):
        rows_to_draw(alignment)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_rows_are_placed_alike_in_blocks_and_at_once(form, monkeypatch):
    X = np.random.RandomState(0).normal(size=(90, 7))
    landmarks = np.arange(0, 90, 2)
    at_once = maps.principal_coordinates(form(X), landmarks)
    monkeypatch.setattr(maps, "ROWS_AT_ONCE", 25)
    in_blocks = maps.principal_coordinates(form(X), landmarks)
    np.testing.assert_allclose(in_blocks, at_once, rtol=1e-5, atol=1e-6)


def joint_case(n=60, n_other=50):
    rng = np.random.RandomState(0)
    factors = rng.normal(size=(n, 3)) + 6 * np.eye(3)[rng.randint(3, size=n)]
    one, other = (factors @ rng.normal(size=(3, d)) for d in (6, 4))
    order = rng.permutation(n)[:n_other]
    rows = np.full(n, -1)
    rows[order] = np.arange(n_other)
    unrelated = rng.normal(size=(20, 3))
    nobody = np.full(n, -1)
    permutations, sure = [np.arange(n), rows, nobody], [np.ones(n)] * 3
    trust = np.array([1, 0.9, 0.1])
    return [one, other[order], unrelated], Alignment(0, permutations, sure, trust)


def test_matched_rows_have_one_place_on_the_joint_map():
    Xs, alignment = joint_case()
    one, other, unrelated = maps.draw_joint(Xs, alignment)
    assert unrelated is None
    assert (one.shape, other.shape) == ((60, 2), (50, 2))
    matched = np.flatnonzero(alignment.permutations[1] >= 0)
    np.testing.assert_array_equal(
        one[matched], other[alignment.permutations[1][matched]]
    )
    assert np.linalg.norm(one, axis=1).max() <= 1.001


def test_rows_without_a_partner_lie_among_those_they_are_like():
    Xs, alignment = joint_case()
    longer = [Xs[0], np.vstack([Xs[1], Xs[1][:5]]), Xs[2]]  # five that are there twice
    _, other, _ = maps.draw_joint(longer, alignment)
    np.testing.assert_allclose(other[50:], other[:5], atol=1e-3)


def test_where_nothing_is_matched_there_is_no_joint_map():
    Xs, alignment = joint_case()
    refused = Alignment(
        0, alignment.permutations, alignment.confidence, np.array([1, 0.2, 0.1])
    )
    assert maps.draw_joint(Xs, refused) == [None] * 3
