"""Peaks become components, against TF-IDF and SVD by hand."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from unaligned import prepare
from unaligned.preparation.peaks import are_peaks, fit_index


@pytest.fixture
def counts():
    rng = np.random.RandomState(0)
    return rng.poisson(rng.gamma(0.3, 1, size=(80, 1)) * rng.gamma(0.2, 2, size=60))


class Cells:
    """What of an AnnData is looked at."""

    def __init__(self, X, names):
        self.X, self.var_names = X, names
        self.obs_names = [f"c{i}" for i in range(X.shape[0])]


def named(counts):
    return [f"chr1:{10 * i}-{10 * i + 9}" for i in range(counts.shape[1])]


def test_components_are_singular_vectors_of_the_weighted_shares(counts):
    depth = np.maximum(counts.sum(axis=1, keepdims=True), 1)
    rarity = np.log(1 + 80 / np.maximum((counts > 0).sum(axis=0), 1))
    table = np.log(1 + 1e4 * counts / depth * rarity)
    U, s, _ = np.linalg.svd(table, full_matrices=False)
    expected = (U * s)[:, 1:6]
    for X in (counts.astype(float), sparse.csr_array(counts.astype(float))):
        found = fit_index(X).apply(X)
        assert found.shape == (80, 50)
        sign = np.sign(np.sum(found[:, :5] * expected, axis=0))
        np.testing.assert_allclose(found[:, :5] * sign, expected, atol=1e-6)


def test_peaks_are_known_by_the_names_of_their_columns(counts):
    view = prepare(Cells(sparse.csr_matrix(counts.astype(float)), named(counts)))
    assert view.shape == (80, 50)
    assert "The columns are peaks" in view.summary()
    assert not view.raw_counts
    genes = prepare(Cells(counts.astype(float), [f"gene{i}" for i in range(60)]))
    assert genes.shape == (80, 60)
    assert prepare(genes.X, transform="none").shape == (80, 60)
    assert not are_peaks(None)


def test_new_rows_get_the_same_components(counts):
    X = counts.astype(float)
    view = prepare(X, transform="lsi")
    np.testing.assert_allclose(prepare(X[:7], like=view).X, view.X[:7], atol=1e-8)


def test_other_columns_of_a_table_of_peaks_are_left_out(counts):
    table = pd.DataFrame(counts, columns=named(counts)).assign(tissue="liver")
    view = prepare(table)
    assert view.feature_names[0] == "component 1"
    assert view.shape[1] == len(view.feature_names)
    why = {note.column: note.why for note in view.notes}
    assert why["tissue"] == "no peak"
    again = prepare(table[:9], like=view)
    np.testing.assert_allclose(again.X, view.X[:9], atol=1e-8)


def test_what_cannot_be_peaks_is_refused(counts):
    with pytest.raises(ValueError, match="transform='lsi' needs counts"):
        prepare(counts - 1.0, transform="lsi")
