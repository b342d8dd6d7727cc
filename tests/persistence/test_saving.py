"""Models come back as they were saved."""

import dataclasses
import json
import zipfile

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import unaligned
from tests.conftest import ROOT, make_blobs
from tests.torture.forging import members_of, write_members
from unaligned import PAVuC, SAVuC, baselines
from unaligned.baselines import CMVNMF, LMVSC
from unaligned.persistence import saving
from unaligned.savuc.config import Settings

DEEP = ("CPMN", "MvCLN", "PVC", "SMILE", "SURE")
ESTIMATORS = [PAVuC, SAVuC, *(getattr(baselines, name) for name in baselines.__all__)]
CASES = [
    pytest.param(
        cls,
        kind,
        marks=[pytest.mark.heavy] if cls.__name__ in DEEP else [],
        id=f"{cls.__name__}-{kind}",
    )
    for cls in ESTIMATORS
    for kind in ("dense", *(["sparse"] if cls._accepts_sparse else []))
]
GOLDEN = ROOT / "tests" / "golden" / "pavuc_format1.model"


def assert_same(one, other):
    """The same types, shapes, dtypes and values, all the way down."""
    assert type(one) is type(other)
    if dataclasses.is_dataclass(one):
        one, other = vars(one), vars(other)
    if isinstance(one, np.ndarray):
        assert one.dtype == other.dtype
        assert one.flags.f_contiguous == other.flags.f_contiguous
        np.testing.assert_array_equal(one, other)
    elif sparse.issparse(one):
        assert_same(
            [one.data, one.indices, one.indptr],
            [other.data, other.indices, other.indptr],
        )
        assert one.shape == other.shape
    elif isinstance(one, dict):
        assert list(one) == list(other)
        assert_same(list(one.values()), list(other.values()))
    elif isinstance(one, list | tuple):
        assert len(one) == len(other)
        for mine, yours in zip(one, other, strict=True):
            assert_same(mine, yours)
    else:
        np.testing.assert_equal(one, other)


def round_trip(model, folder):
    model.save(folder / "model")
    return unaligned.load(folder / "model")


def quick(cls):
    """An estimator of three clusters that does not take long."""
    few = {"max_iter": 3, "n_init": 1, "effort": "quick", "hidden": (8,), "epochs": 2}
    few |= {"n_restarts": 1}
    few |= {f"{stage}_epochs": 1 for stage in ("pretrain", "align", "finetune")}
    return cls(3, random_state=0).set_params(
        **{name: few[name] for name in few.keys() & cls().get_params().keys()}
    )


@pytest.mark.parametrize(("cls", "kind"), CASES)
def test_every_estimator_comes_back_as_it_was(cls, kind, tmp_path):
    Xs, _ = make_blobs()
    if kind == "sparse":
        Xs = [sparse.csr_array(np.maximum(X, 0)) for X in Xs]
    if cls.__name__ in DEEP:
        pytest.importorskip("torch")
    model = quick(cls).fit(Xs, aligned=30)
    back = round_trip(model, tmp_path)
    assert type(back) is cls
    assert_same(back.get_params(), model.get_params())
    assert_same(vars(back), vars(model))
    if hasattr(model, "predict"):
        for view, X in enumerate(Xs):
            assert_same(back.predict(X * 1.01, view), model.predict(X * 1.01, view))
    if hasattr(model, "transform"):
        assert_same(back.transform(Xs[0]), model.transform(Xs[0]))
    if hasattr(model, "single_view_labels_"):
        assert_same(back.single_view_labels_, model.single_view_labels_)
    assert repr(back.alignment_) == repr(model.alignment_)


@pytest.mark.heavy
def test_the_two_estimators_called_pavuc_are_not_confused(tmp_path, blobs):
    arrays = pytest.importorskip("dask.array")
    from unaligned.distributed import PAVuC as DaskPAVuC

    Xs = [arrays.from_array(X, chunks=(30, -1)) for X in blobs[0]]
    model = DaskPAVuC(3, max_iter=3, n_init=1, random_state=0).fit(Xs)
    back = round_trip(model, tmp_path)
    assert type(back) is DaskPAVuC
    assert_same(back.labels_, model.labels_)
    assert type(round_trip(PAVuC(3), tmp_path)) is PAVuC


def test_a_model_that_was_not_fitted_comes_back_ready_to_be(tmp_path, blobs):
    Xs, _ = blobs
    model = PAVuC(3, max_iter=3, random_state=4)
    back = round_trip(model, tmp_path)
    assert not hasattr(back, "labels_")
    assert_same(vars(back.fit(Xs)), vars(model.fit(Xs)))


def test_an_array_held_twice_is_written_once_and_shared_again(tmp_path, blobs):
    model = LMVSC(3, random_state=0).fit(blobs[0])
    back = round_trip(model, tmp_path)
    assert back.labels_ is back.view_labels_[0]
    with zipfile.ZipFile(tmp_path / "model") as archive:
        fitted = json.loads(archive.read("manifest.json"))["model"]["estimator"][
            "fitted"
        ]
    assert fitted["labels_"] == fitted["view_labels_"][0]


def test_the_same_model_makes_the_same_bytes(tmp_path, blobs):
    model = SAVuC(3, effort="quick", random_state=0).fit(blobs[0])
    model.save(tmp_path / "one")
    unaligned.load(tmp_path / "one").save(tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_float32_and_column_names_survive(tmp_path, blobs):
    Xs = [X.astype(np.float32) for X in blobs[0]]
    back = round_trip(PAVuC(3, max_iter=3, random_state=0).fit(Xs), tmp_path)
    assert back.anchor_graphs_[0].dtype == np.float32
    frame = pd.DataFrame(blobs[0][0], columns=list("abcde"))
    model = PAVuC(3, max_iter=3, random_state=0).fit(frame)
    back = round_trip(model, tmp_path)
    assert_same(back.feature_names_in_, model.feature_names_in_)
    assert_same(back.predict(frame), model.predict(frame))


def test_parameters_of_all_kinds_survive(tmp_path):
    anchors, graph = np.eye(3), np.ones((3, 60), order="F")
    model = PAVuC(
        np.int64(3),
        mu=np.float32(0.1),
        init=(anchors, graph),
        view_sizes=[2, 3],
        tol=1e-300,
    )
    assert_same(round_trip(model, tmp_path).get_params(), model.get_params())
    links = {(0, 1): np.array([[0, 1]]), (1, 2): [[3, 4]]}
    model = CMVNMF(3, must_link=links, cannot_link=None)
    assert_same(round_trip(model, tmp_path).get_params(), model.get_params())


def test_settings_of_a_search_survive(tmp_path, blobs):
    own = Settings(n_starts=np.int64(3), ridge=0.5, schedule=((3, 0.1), (3, 0.1)))
    model = SAVuC(3, effort=own, random_state=0).fit(blobs[0])
    back = round_trip(model, tmp_path)
    assert back.effort == own
    assert_same(back.alignment_, model.alignment_)
    assert_same(back.fit(blobs[0]).labels_, model.labels_)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("n_starts", 0),
        ("n_starts", -3),
        ("n_starts", 2**70),
        ("n_starts", 1.5),
        ("n_starts", True),
        ("n_starts", None),
        ("ridge", {"float": "nan"}),
        ("ridge", {"float": "inf"}),
        ("ridge", "much"),
        ("sharpness", 0),
        ("schedule", []),
        ("schedule", {"tuple": []}),
        ("schedule", {"tuple": [{"tuple": [10]}]}),
        ("schedule", {"tuple": [{"tuple": [10, -0.1]}]}),
    ],
)
def test_settings_that_no_search_works_with_are_refused(field, value, tmp_path):
    path = tmp_path / "model"
    SAVuC(3, effort=Settings(n_starts=3)).save(path)
    members = members_of(path)
    manifest = json.loads(members["manifest.json"])
    settings = manifest["model"]["estimator"]["parameters"]["effort"]["record"]
    settings["fields"][field] = value
    write_members(path, members | {"manifest.json": json.dumps(manifest)})
    with pytest.raises(ValueError, match=rf"damaged: {field}(=.* is no setting| is )"):
        unaligned.load(path)


def test_a_random_state_goes_on_where_it_was(tmp_path):
    rng = np.random.RandomState(0)
    rng.normal(size=3)  # an odd number: one normal is kept for later
    back = round_trip(PAVuC(random_state=rng), tmp_path)
    assert_same(back.random_state.normal(size=5), rng.normal(size=5))


def test_callbacks_stay_behind(tmp_path, blobs):
    callback = pytest.importorskip("sklearn.callback").ProgressBar()
    model = LMVSC(3, random_state=0).set_callbacks(callback)
    back = round_trip(model, tmp_path)
    assert "_skl_callbacks" not in vars(back)


def test_a_file_of_the_first_format_still_loads():
    # Written once by unaligned 0.1.0 from make_blobs(), and never to be written again.
    Xs, _ = make_blobs()
    back = unaligned.load(GOLDEN)
    again = PAVuC(3, max_iter=3, n_init=1, random_state=0).fit(Xs)
    assert_same(back.get_params(), again.get_params())
    np.testing.assert_array_equal(back.predict(Xs[0]), again.predict(Xs[0]))
    # It was saved before there were verdicts.
    assert back.alignment_.verdict == again.alignment_.verdict
    assert_same(back.alignment_.known, again.alignment_.known)


@pytest.mark.parametrize("cls", [PAVuC, LMVSC])
def test_known_pairs_are_no_test_in_models_saved_before(cls, tmp_path, blobs):
    path = tmp_path / "fit.model"
    model = cls(3, random_state=0).fit(blobs[0], aligned=40)
    shares = model.alignment_.known  # what was called trust
    model.alignment_ = dataclasses.replace(model.alignment_, trust=shares)
    model.save(path)
    members = members_of(path)
    manifest = json.loads(members["manifest.json"])
    record = manifest["model"]["estimator"]["fitted"]["alignment_"]["record"]
    for later in ("verdict", "basis", "known", "suspects"):
        del record["fields"][later]
    write_members(path, members | {"manifest.json": json.dumps(manifest)})
    back = unaligned.load(path).alignment_
    expected = ["objects" if i == model.template_ else "untested" for i in range(3)]
    assert back.verdict == expected
    assert np.isnan(back.trust).sum() == 2
    np.testing.assert_array_equal(back.known, shares)


def test_a_verdict_and_what_goes_with_it_come_back(tmp_path, blobs):
    model = LMVSC(3, random_state=0).fit(blobs[0])
    model.alignment_ = dataclasses.replace(
        model.alignment_,
        trust=np.array([1, 0.8, 0.2]),
        verdict=["objects", "classes", "none"],
        basis=["structure", "known pairs", "structure"],
        known=np.array([1, 0.5, 0]),
        suspects={(0, 1): np.array([[3, 4]])},
    )
    model.save(tmp_path / "fit.model")
    assert_same(unaligned.load(tmp_path / "fit.model").alignment_, model.alignment_)


def test_a_savuc_with_records_that_have_changed_since_still_loads(tmp_path):
    # Written once by unaligned 0.1.0 from make_blobs(), and never to be written again.
    Xs, _ = make_blobs()
    back = unaligned.load(GOLDEN.with_name("savuc_format1.model"))
    again = round_trip(back, tmp_path)
    assert back.best_view_ == again.best_view_ == back.template_
    with pytest.raises(ValueError, match=r"saved by an earlier version.*Fit it again"):
        back.translate(Xs[0], 0, 1)
    for i, X in enumerate(Xs):
        np.testing.assert_array_equal(back.predict(X, view=i), back.view_labels_[i])
        np.testing.assert_array_equal(again.predict(X, view=i), back.view_labels_[i])


def test_an_interrupted_save_leaves_nothing_behind(tmp_path, blobs, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    model = LMVSC(3, random_state=0).fit(blobs[0])
    monkeypatch.setattr(saving.json, "dumps", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []
