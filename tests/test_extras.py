"""What needs the heavy extras; ``make test-all`` installs them."""

import warnings

import numpy as np
import pytest

from unaligned import PAVuC

pytestmark = [
    pytest.mark.heavy,
    # Other people's imports warn as they please.
    pytest.mark.filterwarnings("default"),
]


def fit(Xs):
    return PAVuC(3, max_iter=3, n_init=1, random_state=0).fit(Xs)


def test_torch_tensors_are_views(blobs):
    torch = pytest.importorskip("torch", reason="needs the extra 'deep'")
    tensors = [torch.tensor(X, dtype=torch.float32) for X in blobs[0]]
    model = fit(tensors)
    assert model.anchor_graphs_[0].dtype == np.float32
    arrays = [X.astype(np.float32) for X in blobs[0]]
    np.testing.assert_array_equal(model.labels_, fit(arrays).labels_)


def test_mudata_is_a_dict_of_views(blobs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mudata = pytest.importorskip("mudata", reason="needs the extra 'scverse'")
        anndata = pytest.importorskip("anndata", reason="needs the extra 'scverse'")
        names = ["rna", "atac", "protein"]
        modalities = {
            name: anndata.AnnData(X) for name, X in zip(names, blobs[0], strict=True)
        }
        model = fit(mudata.MuData(modalities))
    assert model.view_names_in_ == names
    np.testing.assert_array_equal(model.labels_, fit(blobs[0]).labels_)
    np.testing.assert_array_equal(fit(list(modalities.values())).labels_, model.labels_)
