"""Fits to compare, and what it means that two are the same."""

import warnings

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

SETTINGS = {"n_init": 2, "random_state": 0, "max_iter": 8, "tol": 0}


def fit(cls, Xs, aligned=None, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return cls(**{"n_clusters": 3, **SETTINGS, **parameters}).fit(
            Xs, aligned=aligned
        )


def chunked(Xs, *rows):
    """Dask arrays; chunks of the views have different lengths."""
    import dask.array as da

    return [
        da.from_array(X, chunks=(rows[i % len(rows)], -1)) for i, X in enumerate(Xs)
    ]


def assert_same_fit(found, expected, graph_gap):
    assert_array_equal(found.labels_, expected.labels_)
    assert found.template_ == expected.template_
    for i in range(expected.n_views_):
        assert_array_equal(found.view_labels_[i], expected.view_labels_[i])
        assert_array_equal(
            found.alignment_.permutations[i], expected.alignment_.permutations[i]
        )
        assert_allclose(
            found.alignment_.confidence[i],
            expected.alignment_.confidence[i],
            rtol=1e-9,
            atol=1e-9,
        )
        assert found.anchor_graphs_[i].dtype == expected.anchor_graphs_[i].dtype
        gap = np.abs(found.anchor_graphs_[i] - expected.anchor_graphs_[i]).max()
        assert gap <= graph_gap
    assert_allclose(found.objective_, expected.objective_, rtol=1e-10)
    assert found.embedding_.shape == expected.embedding_.shape
    assert_array_equal(found.alignment_.trust, expected.alignment_.trust)
