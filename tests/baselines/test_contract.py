"""What every baseline does the same way."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from tests.conftest import make_blobs
from unaligned import baselines
from unaligned.baselines._pair_trained import PairTrainedClusterer
from unaligned.baselines._paired import PairedRowsClusterer
from unaligned.datasets import unalign
from unaligned.metrics import clustering_scores

CLASSES = [getattr(baselines, name) for name in baselines.__all__]
PAIRED = [cls for cls in CLASSES if issubclass(cls, PairedRowsClusterer)]
# Networks that need pairs to learn from, and not much time for so little data.
DEEP = {
    "PVC": {"hidden": (32,), "pretrain_epochs": 60, "align_epochs": 2},
    "MvCLN": {"hidden": (64,), "batch_size": 64, "epochs": 20, "switch_ratio": 0.5},
    "SMILE": {"hidden": (32,), "epochs": 20},
    "CPMN": {"hidden": (32,), "graph_epochs": 20, "prototype_epochs": 5},
    "SURE": {"hidden": (64,), "batch_size": 64, "epochs": 20, "switch_ratio": 0.5},
}
# Others that need less than their defaults for so little data.
FEW = {"Rosetta": {"n_restarts": 2}, "SCOT": {"max_iter": 20}}
ALL = [
    pytest.param(cls, marks=pytest.mark.heavy)
    if issubclass(cls, PairTrainedClusterer)
    else cls
    for cls in CLASSES
]


def fit(cls, Xs, aligned=None, **parameters):
    if cls.__name__ in DEEP:
        aligned = 20 if aligned is None else aligned
        parameters = {**DEEP[cls.__name__], "device": "cpu", **parameters}
    parameters = {**FEW.get(cls.__name__, {}), **parameters}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return cls(3, random_state=0, **parameters).fit(Xs, aligned=aligned)


@pytest.mark.parametrize("cls", ALL)
def test_separated_aligned_views_are_clustered_right(cls):
    Xs, y = make_blobs(n=90)
    model = fit(cls, Xs, aligned="all")
    for labels in model.view_labels_:
        assert clustering_scores(y, labels)["acc"] >= 0.95


@pytest.mark.parametrize("cls", ALL)
def test_fitted_attributes_keep_the_contract(cls, blobs):
    model = fit(cls, blobs[0])
    assert [labels.shape for labels in model.view_labels_] == [(60,)] * 3
    assert model.labels_ is model.view_labels_[0]
    assert 0 <= model.template_ < 3
    assert model.n_iter_ >= 1
    alignment = model.alignment_
    for rows, confidence in zip(
        alignment.permutations, alignment.confidence, strict=True
    ):
        assert rows.shape == confidence.shape == (60,)
        assert ((confidence >= 0) & (confidence <= 1)).all()
    is_template = np.arange(3) == model.template_
    np.testing.assert_array_equal(alignment.trust, np.where(is_template, 1, np.nan))
    verdicts = np.where(is_template, "objects", "untested")
    np.testing.assert_array_equal(alignment.verdict, verdicts)
    if hasattr(model, "objective_"):
        assert np.isfinite(model.objective_).all()


@pytest.mark.parametrize("cls", ALL)
def test_the_same_seed_gives_the_same_labels(cls, blobs):
    one, other = fit(cls, blobs[0]), fit(cls, blobs[0])
    assert pickle.dumps(one.view_labels_) == pickle.dumps(other.view_labels_)


@pytest.mark.parametrize("cls", ALL)
def test_odd_but_honest_views_work(cls, blobs):
    Xs = [np.hstack([blobs[0][0], np.ones((60, 2))]), np.repeat(blobs[0][1][:6], 10, 0)]
    assert len(fit(cls, Xs).labels_) == 60
    assert len(fit(cls, [X.astype(np.float32) for X in blobs[0]]).labels_) == 60


@pytest.mark.parametrize("cls", ALL)
def test_every_method_cites_its_paper_and_says_what_it_does_with_misalignment(cls):
    assert cls.citation.startswith("@")
    assert cls.citation.count("{") == cls.citation.count("}")
    if issubclass(cls, PairedRowsClusterer):
        assert "ignores misalignment" in cls.__doc__.splitlines()[0]


@pytest.mark.parametrize("cls", PAIRED)
def test_known_pairs_are_brought_together(cls):
    Xs, y = make_blobs(n=90)
    shuffled = unalign(Xs, y, random_state=0)
    where = [np.argsort(order) for order in shuffled.order]
    pairs = {(0, i): np.column_stack([where[0], where[i]]) for i in (1, 2)}
    model = fit(cls, shuffled.Xs, aligned=pairs)
    for y_i, labels in zip(shuffled.ys, model.view_labels_, strict=True):
        assert clustering_scores(y_i, labels)["acc"] >= 0.95
    np.testing.assert_array_equal(model.alignment_.known, np.ones(3))


@pytest.mark.parametrize("cls", PAIRED)
def test_assumed_pairs_are_not_known(cls, blobs):
    model = fit(cls, blobs[0], reference_view=1)
    assert model.template_ == 1
    np.testing.assert_array_equal(model.alignment_.known, [0, 1, 0])
    with pytest.raises(ValueError, match="reference_view=3 is none of the 3 views"):
        fit(cls, blobs[0], reference_view=3)
