"""SAVuC on dask: lazy labels and translations, from a sample of aligned rows."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from partly_shared import partly_shared
from same_fit import chunked
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

import unaligned
from unaligned.distributed import SAVuC, sampling
from unaligned.distributed.sampling import first_of, restricted
from unaligned.savuc.config import EFFORTS

dask = pytest.importorskip("dask", reason="needs the extra 'dask'")
pytest.importorskip("dask.array", reason="needs the extra 'dask'")
pytestmark = pytest.mark.heavy

# Few starts, rivals and splits, which take most of the time of small fits.
FAST = replace(
    EFFORTS["quick"], n_starts=20, n_rivals=2, n_rival_rows=0, n_splits=4, n_folds=3
)


def model(**parameters):
    return SAVuC(5, effort=FAST, random_state=0, **parameters)


@pytest.fixture(scope="module")
def fitted():
    Xs, partner = partly_shared()
    views = chunked(Xs, 150)
    return Xs, partner, views, model().fit(views)


def test_labels_are_lazy_and_those_of_memory(fitted):
    Xs, _, _, found = fitted
    expected = unaligned.SAVuC(5, effort=FAST, random_state=0).fit(Xs)
    assert found.fused_views_ == expected.fused_views_ == (0, 1)
    for i in (0, 1):
        lazy = found.view_labels_[i]
        assert dask.is_dask_collection(lazy)
        assert lazy.shape == (400,)
        agreement = adjusted_rand_score(lazy.compute(), expected.view_labels_[i])
        assert agreement > 0.8
    assert found.labels_ is found.view_labels_[0]


def test_partners_have_labels_in_common(fitted):
    _, partner, _, found = fitted
    labels = [lazy.compute() for lazy in found.view_labels_]
    there = np.flatnonzero(partner >= 0)
    assert np.mean(labels[0][there] == labels[1][partner[there]]) > 0.9


def test_translation_is_lazy_and_near_the_columns_that_are_there(fitted):
    Xs, partner, views, found = fitted
    lazy = found.translate(views[0], 0, 1)
    assert lazy.shape == (400, Xs[1].shape[1])
    assert lazy.dtype == np.float32
    estimate = lazy.compute()
    assert_allclose(estimate, found.translate(Xs[0], 0, 1), atol=1e-3)
    there = np.flatnonzero(partner >= 0)
    truth = Xs[1][partner[there]]
    unexplained = ((estimate[there] - truth) ** 2).sum()
    assert unexplained < 0.3 * ((truth - truth.mean(axis=0)) ** 2).sum()


def test_places_are_lazy_and_near_for_partners(fitted):
    _, partner, views, found = fitted
    one, other = (found.transform(X, i).compute() for i, X in enumerate(views))
    there = np.flatnonzero(partner >= 0)
    apart = np.linalg.norm(one[there] - other[partner[there]], axis=1)
    strange = np.linalg.norm(one[there] - other[np.roll(partner[there], 1)], axis=1)
    assert np.median(apart) < 0.5 * np.median(strange)


def test_chunks_change_nothing(fitted):
    Xs, _, _, found = fitted
    again = clone(found).fit(chunked(Xs, 400, 61))
    for i in (0, 1):
        assert_array_equal(again.view_labels_[i], found.view_labels_[i])
        assert_array_equal(
            again.alignment_.permutations[i], found.alignment_.permutations[i]
        )


def test_known_pairs_lead_to_classes_and_translations_without_a_match(fitted):
    rng = np.random.RandomState(0)
    kind = rng.randint(3, size=300)
    Xs = [rng.normal(size=(3, d))[kind] * 3 + rng.normal(size=(300, d)) for d in (8, 9)]
    order = rng.permutation(300)
    views = chunked([Xs[0], Xs[1][order]], 100)
    place = np.argsort(order)
    pairs = np.column_stack([np.arange(60), place[:60]])
    found = SAVuC(3, effort=FAST, random_state=0).fit(views, aligned={(0, 1): pairs})
    assert "classes" in found.alignment_.verdict
    labels = [lazy.compute() for lazy in found.view_labels_]
    assert np.mean(labels[0] == labels[1][place]) > 0.9
    assert found.translate(views[0], 0, 1).compute().shape == (300, 9)


def test_a_view_alone_is_clustered(fitted):
    Xs, _, _, _ = fitted
    found = model().fit(chunked(Xs[:1], 100))
    assert len(np.unique(found.labels_.compute())) == 5


def test_the_sample_holds_partners_together(fitted, monkeypatch):
    _, _, views, _ = fitted
    monkeypatch.setattr(sampling, "N_KNOWN", 120)
    monkeypatch.setattr(sampling, "KNOWN_PER_CLASS", 1)
    found = model().fit(views)
    sample = found._on_sample
    rows = sample.alignment_.permutations[1]
    assert np.mean(rows >= 0) > 0.7
    assert [len(X) for X in sample._views] == [120, 120]


def test_rows_that_come_first_are_drawn_first():
    first = np.arange(10) % 2 == 0
    drawn = first_of(np.random.RandomState(0), first, 7)
    assert set(np.arange(0, 10, 2)) < set(drawn)
    assert len(drawn) == 7


def test_an_alignment_of_some_rows():
    rows = [np.arange(4), np.array([5, -1, 2, 0])]
    sure = [np.ones(4), np.array([0.9, 0.0, 0.8, 0.7])]
    whole = unaligned.Alignment(0, rows, sure, np.ones(2))
    some = restricted(whole, [np.array([0, 1, 3]), np.array([2, 3, 5])])
    assert_array_equal(some.permutations[0], [0, 1, 2])
    assert_array_equal(some.permutations[1], [2, -1, -1])  # row 0 is not in the sample
    assert_array_equal(some.confidence[1], [0.9, 0, 0])
