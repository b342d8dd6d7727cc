"""What comes from a file is checked before it is used."""

import copy
import json
import subprocess
import sys
import zipfile

import numpy as np
import pytest

import unaligned
from tests.conftest import make_blobs
from tests.torture.forging import networks
from unaligned import PAVuC, SAVuC
from unaligned.baselines._deep import FrozenEncoder, Scaling
from unaligned.persistence.restored import check_random_numbers
from unaligned.selection import LabelFreeSearch


def state_of(seed=0):
    return np.random.RandomState(seed).get_state(legacy=True)


def test_a_sound_state_draws_as_before():
    rng, back = np.random.RandomState(3), np.random.RandomState()
    rng.normal(size=7)  # leaves half a pair of normal numbers behind
    back.set_state(check_random_numbers(rng.get_state(legacy=True)))
    np.testing.assert_array_equal(back.normal(size=9), rng.normal(size=9))


@pytest.mark.parametrize(
    ("at", "value"),
    [
        (0, "PCG64"),
        (1, np.zeros(624, np.uint32)),  # draws nothing but zeros, without end
        (1, np.ones(623, np.uint32)),
        (1, np.ones(624)),
        (1, [1] * 624),
        (2, -1),
        (2, 625),
        (2, 2**31),
        (2, 1.5),
        (2, True),
        (3, 2),
        (4, np.nan),
        (4, "x"),
    ],
)
def test_other_states_of_random_numbers_are_refused(at, value):
    state = list(state_of())
    state[at] = value
    with pytest.raises(ValueError, match="random numbers"):
        check_random_numbers(tuple(state))


LOAD = """
import sys, unaligned
try:
    unaligned.load(sys.argv[1]).random_state.normal(size=10000)
except ValueError as error:
    print(error)
"""


def test_a_position_beyond_the_state_does_not_crash(tmp_path):
    path = tmp_path / "a.model"
    PAVuC(2, random_state=np.random.RandomState(0)).save(path)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(members["manifest.json"])
    parameters = manifest["model"]["estimator"]["parameters"]
    parameters["random_state"]["random_state"]["tuple"][2] = 10**6
    members["manifest.json"] = json.dumps(manifest)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    run = subprocess.run(
        [sys.executable, "-c", LOAD, path], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0
    assert "position 1000000 of 624" in run.stdout


@pytest.fixture(scope="module")
def model():
    return PAVuC(3, n_init=1, max_iter=2, random_state=0).fit(make_blobs()[0])


def spoil_alignment(**parts):
    return lambda m: vars(m.alignment_).update(parts)


def spoil(**parts):
    return lambda m: vars(m).update(parts)


N, V = 60, 3
WRONG = [
    (spoil(n_views_=2), "does not name its 2 views"),
    (spoil(view_names_in_=["a", "a", "b"]), "does not name"),
    (spoil(n_features_per_view_=[5, 4, 0]), "columns"),
    (spoil(n_features_in_=99), "columns"),
    (spoil(n_clusters_=0), "n_clusters_ is 0"),
    (spoil(clusters_evidence_=[3]), "evidence on the number of clusters"),
    (spoil(labels_=np.zeros(N, int) + 2), "first view"),
    (spoil(view_labels_=[np.full(N, -1)] * V), "no clusters"),
    (spoil(view_labels_=[np.zeros(N)] * V), "view_labels_ is no array"),
    (spoil(template_=7), "template_"),
    (spoil(best_view_=3), "best_view_ is 3"),
    (spoil(_seed=-1), "seed"),
    (spoil(n_iter_=-1), "n_iter_"),
    (spoil(converged_="yes"), "converged_"),
    (spoil(anchors_=np.ones((3, 9))), "has the shape"),
    (spoil(anchors_=np.full((3, 3), np.nan)), "not finite"),
    (spoil(projections_=[np.ones((5, 3))] * V), "projections_ has the shape"),
    (spoil(cluster_centers_=np.ones((3, 99))), "has the shape"),
    (spoil(_embedding=None), "vectors is missing"),
    (spoil(alignment_=None), "no alignment"),
    (spoil_alignment(permutations=[np.full(N, N)] * V), "rows beyond"),
    (spoil_alignment(permutations=[np.full(N, -2)] * V), "rows beyond"),
    (spoil_alignment(permutations=[np.arange(N)]), "there are 1 views"),
    (spoil_alignment(confidence=[np.full(N, 2.0)] * V), "between 0 and 1"),
    (spoil_alignment(trust=np.full(V, np.inf)), "between 0 and 1"),
    (spoil_alignment(trust=np.ones(V - 1)), "trust has 2 entries"),
    (spoil_alignment(template=-1), "template is -1"),
    (spoil_alignment(view_names=["0", "1"]), "view_names has 2 entries"),
]


def check_refusal(model, change, complaint, path):
    """What was changed in a model's file is named when it is loaded."""
    model.save(path)
    spoilt = unaligned.load(path)
    change(spoilt)
    spoilt.save(path)
    with pytest.raises(ValueError, match=complaint) as error:
        unaligned.load(path)
    assert str(path) in str(error.value)


@pytest.mark.parametrize(("change", "complaint"), WRONG)
def test_parts_that_do_not_fit_are_refused(model, tmp_path, change, complaint):
    check_refusal(model, change, complaint, tmp_path / "a.model")


def test_a_part_that_is_missing_is_named(model, tmp_path):
    path = tmp_path / "a.model"
    model.save(path)
    spoilt = unaligned.load(path)
    del spoilt.projections_
    spoilt.save(path)
    with pytest.raises(ValueError, match="projections_ is missing"):
        unaligned.load(path)


@pytest.mark.parametrize("part", ["_seed", "_single_view_labels"])
def test_what_clusters_of_single_views_are_made_of_is_missed(model, tmp_path, part):
    path = tmp_path / "a.model"
    model.save(path)
    spoilt = unaligned.load(path)
    delattr(spoilt, part)
    spoilt.save(path)
    with pytest.raises(ValueError, match=r"its seed is None|labels is missing"):
        unaligned.load(path)


def test_a_search_has_what_its_best_estimator_found(tmp_path):
    path = tmp_path / "a.model"
    search = LabelFreeSearch(PAVuC(max_iter=2, tol=1.0), {"n_clusters": [2, 3]})
    search.fit(make_blobs(n=12)[0])
    spoilt = copy.copy(search)
    del spoilt.alignment_
    spoilt.labels_ = np.zeros(5, int)
    spoilt.save(path)
    back = unaligned.load(path)
    np.testing.assert_array_equal(back.labels_, search.labels_)
    assert repr(back.alignment_) == repr(search.alignment_)
    del spoilt.best_estimator_
    spoilt.save(path)
    with pytest.raises(ValueError, match="but no best_estimator_"):
        unaligned.load(path)


def test_labels_that_are_missing_are_missed(model, tmp_path):
    path = tmp_path / "a.model"
    model.save(path)
    spoilt = unaligned.load(path)
    del spoilt.labels_
    spoilt.save(path)
    with pytest.raises(ValueError, match="but no labels_"):
        unaligned.load(path)


def test_a_model_that_cannot_label_a_row_is_refused(tmp_path):
    path = tmp_path / "a.model"
    spoilt = SAVuC(2, effort="quick", random_state=0).fit(make_blobs(n=20)[0])
    spoilt._labellers = spoilt._labellers[::-1]  # of views with other columns
    spoilt.save(path)
    with pytest.raises(ValueError, match="damaged"):
        unaligned.load(path)


def test_a_record_without_numbers_is_refused(tmp_path):
    path = tmp_path / "a.model"
    spoilt = SAVuC(2, effort="quick", random_state=0).fit(make_blobs(n=20)[0])
    for place in spoilt._space.places.values():
        place.directions[:] = np.nan
    spoilt.save(path)
    with pytest.raises(ValueError, match="holds NaN"):
        unaligned.load(path)


@pytest.fixture(scope="module")
def bridged():
    """Views that known pairs link, and one that stands alone."""
    Xs = make_blobs(n=40)[0]
    known = {(0, 1): [[i, i] for i in range(20)]}
    model = SAVuC(2, effort="quick", random_state=0).fit(Xs, aligned=known)
    assert model._bridge is not None
    return model


def spoil_space(**parts):
    return lambda m: vars(m).update(_space=m._space._replace(**parts))


def spoil_bridge(**parts):
    return lambda m: vars(m).update(_bridge=m._bridge._replace(**parts))


def spoil_places(field, value):
    def change(m):
        places = {i: p._replace(**{field: value}) for i, p in m._space.places.items()}
        m._space = m._space._replace(places=places)

    return change


def move_places(by):
    def change(m):
        places = {i + by: place for i, place in m._space.places.items()}
        m._space = m._space._replace(places=places)

    return change


def spoil_link(**parts):
    def change(m):
        links = {key: link._replace(**parts) for key, link in m._bridge.links.items()}
        m._bridge = m._bridge._replace(links=links)

    return change


def spoil_graphs(**parts):
    return lambda m: m._bridge.graphs.__setitem__(
        0, m._bridge.graphs[0]._replace(**parts)
    )


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (spoil(_space=7), "no attribute 'places'"),
        (move_places(625), "which is no view"),
        (spoil_places("spread", np.ones(99)), "spread has the shape"),
        (spoil_places("spread", np.array(["x"])), "spread is no array"),
        (spoil_places("geometry", ()), r"geometry is \(\), and no Geometry"),
        (spoil(_views=[np.ones((3, 3))] * 3), "_views has the shape"),
        (spoil(embedding_=np.ones(3)), "embedding_ is no array"),
        (spoil(_geometries=[]), "0 is missing"),
        (spoil_bridge(before=np.full((3, 3), -1)), "does not end|view"),
        (spoil_bridge(before=np.full((3, 3), 9)), "damaged"),
        (spoil_bridge(features=[]), "has the shape|damaged"),
        (spoil_link(rows=(np.full(20, 99),) * 2), "rows beyond those of view 0"),
        (spoil_link(weights=np.ones(3)), "has the shape"),
        (spoil_bridge(groups=[(0,), (2,)]), "every view in one group"),
        (spoil_bridge(links={}), "no pairs of views"),
        (spoil_link(there=None), "there is None, and no Ridge"),
        (spoil_link(trust="much"), "trust is 'much', and no float"),
        (spoil_link(trust=np.nan), "trust is nan"),
        (spoil_graphs(n_neighbors=2.5), "n_neighbors is 2.5, and no int"),
    ],
)
def test_parts_of_a_bridge_that_do_not_fit_are_refused(
    bridged, tmp_path, change, complaint
):
    check_refusal(bridged, change, complaint, tmp_path / "a.model")


def test_trust_may_be_untold(model, tmp_path):
    path = tmp_path / "a.model"
    model.save(path)
    untold = unaligned.load(path)
    untold.alignment_.trust[1] = np.nan
    untold.save(path)
    assert np.isnan(unaligned.load(path).alignment_.trust[1])


def test_networks_come_back_and_must_fit(tmp_path):
    path, model = tmp_path / "a.model", networks()
    model.save(path)
    X = np.random.default_rng(1).normal(size=(7, 4))
    np.testing.assert_array_equal(
        unaligned.load(path).predict(X, 1), model.predict(X, 1)
    )
    for change, complaint in [
        (spoil(cluster_centers_=np.ones((2, 5))), "cluster_centers_ has the shape"),
        (spoil(_encoders=model._encoders[::-1]), "has the shape"),
        (spoil(latents_=[np.ones((12, 4))] * 2), "ends in 3 columns, not in 4"),
        (spoil(_encoders=[]), "damaged"),
    ]:
        spoilt = networks()
        change(spoilt)
        spoilt.save(path)
        with pytest.raises(ValueError, match=complaint):
            unaligned.load(path)


def test_layers_of_an_encoder_must_follow_each_other():
    scaling = Scaling(np.zeros(4), np.ones(4))
    layers = [np.ones((4, 6)), np.ones((6, 2))], [np.ones(6), np.ones(2)]
    FrozenEncoder(scaling, *layers, False).check(4, 2)
    with pytest.raises(ValueError, match="weights has the shape"):
        FrozenEncoder(scaling, layers[0][::-1], layers[1], False).check(4, 2)
    with pytest.raises(ValueError, match="ends in 2 columns, not in 3"):
        FrozenEncoder(scaling, *layers, False).check(4, 3)
    with pytest.raises(ValueError, match="shift has the shape"):
        FrozenEncoder(Scaling(np.ones(3), np.ones(4)), *layers, False).check(4, 2)
