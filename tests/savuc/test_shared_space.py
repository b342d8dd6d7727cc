"""The space that aligned views share, and new rows in it."""

import numpy as np
import pytest
from related_views import QUICK, measured_views

from unaligned.alignment import Alignment
from unaligned.savuc.config import Settings
from unaligned.savuc.geometry import read_geometry, whiten
from unaligned.savuc.shared_space import (
    N_SHARED,
    align_new_rows,
    find_space,
    shared_directions,
)


def rng(seed=0):
    return np.random.RandomState(seed)


def whitened(rows):
    rows = rows - rows.mean(axis=0)
    return np.sqrt(len(rows)) * np.linalg.qr(rows)[0]


def read(Xs):
    return [read_geometry(X, QUICK.n_directions, rng()) for X in Xs]


def test_shared_directions_are_those_in_all_views():
    draw = rng()
    n, V = 4000, 3
    common = draw.normal(size=(n, 2))
    views = [
        whitened(
            np.hstack([common, draw.normal(size=(n, 3))])
            @ np.linalg.qr(draw.normal(size=(5, 5)))[0]
        )
        for _ in range(V)
    ]
    found = shared_directions(views)
    assert (found.weights > 0.5).tolist()[:2] == [True, True]
    assert (found.weights > 0.5).sum() == 2
    # They span what was put into all views, and views add up to them.
    centred = common - common.mean(axis=0)
    inside = np.linalg.norm(found.common[:, :2].T @ centred) / np.linalg.norm(centred)
    assert inside > 0.99
    total = sum(rows @ d for rows, d in zip(views, found.of_views, strict=True))
    np.testing.assert_allclose(total, found.common, atol=1e-8)


def test_shared_directions_of_two_views_are_canonical_correlations():
    draw = rng()
    one, other = draw.normal(size=(500, 4)), draw.normal(size=(500, 4))
    one, other = whitened(one), whitened(other + 0.5 * one)
    correlations = np.linalg.svd(one.T @ other / 500, compute_uv=False)
    found = shared_directions([one, other]).weights
    np.testing.assert_allclose(found, correlations[correlations > 0], rtol=1e-6)


def test_there_are_no_more_directions_than_are_kept():
    rows = whitened(rng().normal(size=(200, N_SHARED + 10)))
    assert len(shared_directions([rows, rows]).weights) == N_SHARED


def test_views_without_anything_shared_have_directions_all_the_same():
    found = shared_directions([np.zeros((10, 2)), np.zeros((10, 3))])
    assert np.isfinite(found.common).all()
    assert all(np.isfinite(d).all() for d in found.of_views)


def test_a_row_without_a_partner_stands_where_the_other_views_say():
    draw = rng()
    objects = draw.normal(size=(200, 3))
    Xs = [objects @ draw.normal(size=(3, 6)) for _ in range(2)]
    rows = np.arange(200)
    partners = np.where(rows < 190, rows, -1)
    sure = np.ones(200)
    alignment = Alignment(0, [rows, partners], [sure, sure], np.ones(2))
    space, embedding = find_space(read(Xs), alignment, (0, 1), QUICK.ridge)
    said = [space.places[i].embed(Xs[i]) for i in (0, 1)]
    np.testing.assert_allclose(
        embedding[:190], (said[0] + said[1])[:190] / 2, atol=1e-4
    )
    np.testing.assert_allclose(embedding[190:], said[0][190:], atol=1e-4)


def test_crosses_are_correlations_of_rows_that_all_views_have():
    Xs = measured_views(100, (24, 30, 26))
    order = rng(1).permutation(100)
    Xs[2] = Xs[2][order]
    rows = [np.arange(100), np.where(np.arange(100) < 80, np.arange(100), -1)]
    rows.append(np.argsort(order))
    alignment = Alignment(0, rows, [np.ones(100)] * 3, np.ones(3))
    geometries = read(Xs)
    space, embedding = find_space(geometries, alignment, (0, 1, 2), QUICK.ridge)
    assert set(space.crosses) == {(0, 1), (0, 2), (1, 2)}
    one, _, third = (whiten(g.points, QUICK.ridge) for g in geometries)
    expected = one[:80].T @ third[rows[2][:80]] / 80
    np.testing.assert_allclose(space.crosses[0, 2], expected, atol=1e-4)
    assert np.isfinite(embedding).all()
    # What is kept of the views is the way to the space, and none of their rows.
    assert all(place.geometry.points.size == 0 for place in space.places.values())


def test_one_view_spans_a_space_of_its_own():
    (X,) = measured_views(50, (24,))
    (geometry,) = read([X])
    alignment = Alignment(0, [np.arange(50)], [np.ones(50)], np.ones(1))
    space, embedding = find_space([geometry], alignment, (0,), QUICK.ridge)
    np.testing.assert_array_equal(embedding, geometry.points)
    np.testing.assert_allclose(space.places[0].embed(X), geometry.points, atol=1e-4)
    assert space.crosses == {}


def test_views_of_which_no_row_is_in_all_have_a_space_all_the_same():
    Xs = measured_views(60, (24, 30, 26))
    numbers = np.arange(60)
    rows = [numbers, np.where(numbers < 30, numbers, -1)]
    rows.append(np.where(numbers >= 30, numbers, -1))
    alignment = Alignment(0, rows, [np.ones(60)] * 3, np.ones(3))
    _, embedding = find_space(read(Xs), alignment, (0, 1, 2), QUICK.ridge)
    assert np.isfinite(embedding).all()


@pytest.mark.parametrize(("template", "other"), [(0, 1), (1, 0)])
def test_new_rows_are_aligned_by_what_was_learned(template, other):
    Xs = measured_views(400)
    alignment = Alignment(0, [np.arange(250)] * 2, [np.ones(250)] * 2, np.ones(2))
    old = [X[:250] for X in Xs]
    space, _ = find_space(read(old), alignment, (0, 1), QUICK.ridge)
    order = rng(2).permutation(150)
    new = {template: Xs[template][250:], other: Xs[other][250:][order]}
    trust = np.array([1.0, 0.8])
    found = align_new_rows(space, new, trust, ["a", "b"], Settings())
    assert found.view_names == ["ab"[template], "ab"[other]]
    np.testing.assert_array_equal(found.trust, [1, 0.8])
    assert np.mean(order[found.permutations[1]] == np.arange(150)) > 0.9
    fewer = align_new_rows(
        space, {**new, other: new[other][:50]}, trust, ["a", "b"], Settings()
    )
    assert (fewer.permutations[1] >= 0).sum() == 50
