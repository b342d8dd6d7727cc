"""The space that aligned views share, and new rows in it."""

import numpy as np
import pytest

from unaligned import SAVuC
from unaligned.alignment import Alignment
from unaligned.datasets import load_digits_views, unalign
from unaligned.metrics import instance_alignment_rate
from unaligned.savuc.geometry import read_geometry
from unaligned.savuc.shared_space import find_space, shared_directions


def rng():
    return np.random.RandomState(0)


def whitened(rows):
    rows = rows - rows.mean(axis=0)
    return np.sqrt(len(rows)) * np.linalg.qr(rows)[0]


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


def test_views_without_anything_shared_have_directions_all_the_same():
    found = shared_directions([np.zeros((10, 2)), np.zeros((10, 3))])
    assert np.isfinite(found.common).all()
    assert all(np.isfinite(d).all() for d in found.of_views)


def test_a_row_without_a_partner_stands_where_the_other_views_say():
    draw = rng()
    objects = draw.normal(size=(200, 3))
    Xs = [objects @ draw.normal(size=(3, 6)) for _ in range(2)]
    geometries = [read_geometry(X, draw) for X in Xs]
    rows = np.arange(200)
    partners = np.where(rows < 190, rows, -1)
    sure = np.ones(200)
    alignment = Alignment(0, [rows, partners], [sure, sure], np.ones(2))
    space, embedding = find_space(geometries, alignment, (0, 1))
    said = [space.places[i].embed(Xs[i]) for i in (0, 1)]
    np.testing.assert_allclose(
        embedding[:190], (said[0] + said[1])[:190] / 2, atol=1e-4
    )
    np.testing.assert_allclose(embedding[190:], said[0][190:], atol=1e-4)


@pytest.fixture(scope="module")
def fitted():
    digits = load_digits_views()
    views = [digits.Xs[0], digits.Xs[3], rng().normal(size=(len(digits.y), 5))]
    learned = unalign([X[:400] for X in views], random_state=0)
    new = unalign([X[400:700] for X in views], random_state=1)
    model = SAVuC(10, effort="quick", random_state=0).fit(learned.Xs)
    assert model.fused_views_ == (0, 1)
    return model, learned, new


def test_views_of_one_object_meet_in_the_shared_space(fitted):
    model, _, new = fitted
    one, other = (model.transform(new.Xs[i], view=i) for i in (0, 1))
    other = other[np.argsort(new.order[1])[new.order[0]]]
    apart = np.linalg.norm(one - other, axis=1)
    anyone = np.linalg.norm(one - np.roll(other, 1, axis=0), axis=1)
    assert np.mean(apart < anyone) > 0.95


def test_the_embedding_is_what_transform_says_on_average(fitted):
    model, learned, _ = fitted
    rows = model.alignment_.permutations
    said = [model.transform(learned.Xs[i], i)[rows[i]] for i in (0, 1)]
    np.testing.assert_allclose(model.embedding_, np.mean(said, axis=0), atol=1e-3)


def test_new_rows_are_aligned_by_what_was_learned(fitted):
    model, _, new = fitted
    for views in ((0, 1), (1, 0)):
        found = model.align_new({i: new.Xs[i] for i in views})
        assert found.view_names == [str(i) for i in views]
        order = [new.order[i] for i in views]
        assert instance_alignment_rate(order[1], order[0], found.permutations[1]) > 0.8
        assert found.trust[1] > 0.9
    fewer = model.align_new({0: new.Xs[0][:50], 1: new.Xs[1]})
    assert len(fewer.permutations[1]) == 50
    assert (fewer.permutations[1] >= 0).all()


def test_a_view_that_was_refused_has_no_place(fitted):
    model, _, new = fitted
    with pytest.raises(ValueError, match=r"view 2 could not be aligned .* share: 0, 1"):
        model.transform(new.Xs[2], view=2)
    with pytest.raises(ValueError, match="view 2 could not be aligned"):
        model.align_new({0: new.Xs[0], 2: new.Xs[2]})
    with pytest.raises(ValueError, match=r"two or more views as a dict .*got list"):
        model.align_new([new.Xs[0]])
