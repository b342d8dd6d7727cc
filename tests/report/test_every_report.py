"""Every estimator can write a report, and the page holds what the estimator found."""

import base64
import json
import re
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from unaligned.estimators import ESTIMATORS, estimator_named
from unaligned.report import maps

# What makes a fit as short as it can be, where an estimator knows it.
FEW = {"max_iter": 2, "n_init": 1, "effort": "quick", "device": "cpu", "hidden": (8,)}
FEW |= {"epochs": 1, "pretrain_epochs": 1, "align_epochs": 1, "finetune_epochs": 1}
FEW |= {"graph_epochs": 1, "prototype_epochs": 1, "n_restarts": 1}
DEEP = ("PVC", "MvCLN", "SURE", "SMILE", "CPMN")


def unpack(packed):
    kind = np.dtype(packed["type"].lower()).newbyteorder("<")
    return np.frombuffer(base64.b64decode(packed["base64"]), kind)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.heavy if name in DEEP else ())
        for name in ESTIMATORS
    ],
)
def test_every_estimator_writes_a_report(name, blobs, tmp_path, monkeypatch):
    monkeypatch.setattr(maps, "N_LANDMARKS", 9)  # principal directions, not t-SNE
    cls = estimator_named(name)
    known = cls(3).get_params()
    model = cls(3, random_state=0, **{k: v for k, v in FEW.items() if k in known})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(blobs[0], aligned=20)
    html = model.report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert f"<title>{name} on 3 views</title>" in html
    script = re.search(r'<script[^>]*id="findings"[^>]*>(.*?)</script>', html, re.S)
    page = json.loads(script[1])
    assert page["template"] == model.template_
    for i, view in enumerate(page["views"]):
        np.testing.assert_array_equal(unpack(view["labels"]), model.view_labels_[i])
        partners = unpack(view["partners"]).astype(int) - 1
        np.testing.assert_array_equal(partners, model.alignment_.permutations[i])
        assert unpack(view["x"]).shape == (60,)
