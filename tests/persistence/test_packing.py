"""What cannot be packed is named, and files from strangers do no harm."""

import io
import json
import pickle
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import unaligned
from tests.conftest import make_blobs
from unaligned import PAVuC
from unaligned.baselines import LMVSC
from unaligned.persistence import packing, saving


class Networks(LMVSC):
    """Keeps something that no file has a word for, and says what it is made of."""

    def fit(self, Xs, y=None, *, aligned=None):
        super().fit(Xs, y, aligned=aligned)
        self.network_ = lambda X: X @ self.anchors_[0].T
        return self

    def _saved_state(self):
        return super()._saved_state() | {"network_": {"weights": self.anchors_[0]}}

    def _restore_state(self, state):
        weights = state.pop("network_")["weights"]
        super()._restore_state(state)
        self.network_ = lambda X: X @ weights.T


def test_an_estimator_can_say_what_its_state_is_made_of(tmp_path, blobs, monkeypatch):
    monkeypatch.setattr(packing, "find_estimator", lambda name: Networks)
    Xs, _ = blobs
    model = Networks(3, random_state=0).fit(Xs)
    model.save(tmp_path / "model")
    back = unaligned.load(tmp_path / "model")
    np.testing.assert_array_equal(back.network_(Xs[0]), model.network_(Xs[0]))


@pytest.mark.parametrize(
    ("model", "complaint"),
    [
        (Networks(3), "Networks is not an estimator of unaligned"),
        (PAVuC(init=lambda: 0), r"PAVuC\.init cannot be saved: it holds a function"),
        (PAVuC(init=[object()]), r"PAVuC\.init .* holds a object"),
        (PAVuC(init=np.array([None])), "array of objects"),
        (PAVuC(init=sparse.coo_array(np.eye(2))), "format 'coo'"),
        (PAVuC(init=np.zeros(2, dtype="i4,i4")), "without pickle"),
    ],
    ids=["subclass", "function", "object", "objects", "coo", "structured"],
)
def test_what_cannot_be_saved_leaves_everything_as_it_was(model, complaint, tmp_path):
    path = tmp_path / "model"
    path.write_text("before")
    with pytest.raises(TypeError, match=complaint):
        model.save(path)
    assert [file.name for file in tmp_path.iterdir()] == ["model"]
    assert path.read_text() == "before"


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Members of a small model file, by name."""
    path = tmp_path_factory.mktemp("saved") / "model"
    LMVSC(3, random_state=0).fit(make_blobs()[0]).save(path)
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write(path, members, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def manifest_with(saved, **changes):
    manifest = json.loads(saved["manifest.json"]) | changes
    return saved | {"manifest.json": json.dumps(manifest)}


def model_with(saved, change):
    manifest = json.loads(saved["manifest.json"])
    change(manifest["model"]["estimator"])
    return saved | {"manifest.json": json.dumps(manifest)}


def test_a_newer_format_is_told_with_both_versions(saved, tmp_path):
    newer = manifest_with(saved, format=saving.FORMAT + 1, version="9.0", model=None)
    path = write(tmp_path / "model", newer)
    both = rf"saved by unaligned 9\.0, and unaligned {unaligned.__version__} cannot"
    with pytest.raises(ValueError, match=both + ".*formats up to 1 are known, not 2"):
        unaligned.load(path)


def test_what_an_older_version_saved_otherwise_is_told_too(saved, tmp_path):
    manifest = json.loads(saved["manifest.json"]) | {"version": "0.0.1"}
    manifest["model"]["estimator"]["parameters"]["gone"] = 1
    path = write(tmp_path / "model", saved | {"manifest.json": json.dumps(manifest)})
    with pytest.raises(
        ValueError, match=r"saved by unaligned 0\.0\.1.*'gone' any more"
    ):
        unaligned.load(path)


def test_a_parameter_that_is_new_since_has_its_default(saved, tmp_path):
    older = model_with(saved, lambda model: model["parameters"].pop("alpha"))
    assert unaligned.load(write(tmp_path / "model", older)).alpha == LMVSC().alpha


@pytest.mark.parametrize(
    "content", [b"", b"hello", b"PK\x05\x06", pickle.dumps({"kind": "model"})]
)
def test_what_is_no_zip_file_is_refused(content, tmp_path):
    path = tmp_path / "model"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"is not a model .* Save the model again"):
        unaligned.load(path)


def test_a_missing_file_is_missing(tmp_path):
    with pytest.raises(FileNotFoundError):
        unaligned.load(tmp_path / "model")


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"kind": "report"}, "holds a 'report'"),
        ({"format": "one"}, "not a model"),
        ({"model": None}, "holds a NoneType"),
        ({"model": {"array": "arrays/0.npy"}}, "holds a ndarray"),
        ({"model": {"array": "../../etc/passwd"}}, "no item named"),
        ({"model": {"shell": "true"}}, "holds a 'shell', which is unknown"),
        ({"model": {"record": {"class": "Popen", "fields": {}}}}, "'Popen'"),
        ({"model": {"record": {"class": "Look", "fields": {"x": 1}}}}, "other fields"),
        ({"model": {"sparse": {"class": "hstack", "parts": []}}}, "'hstack' is not"),
        (
            {"model": {"random_state": {"tuple": ["MT19937", 1, 2, 3, 4]}}},
            "not a model",
        ),
        ({"model": {"tuple": 1, "array": 2}}, "not a model"),
    ],
)
def test_a_foreign_manifest_is_refused(saved, changes, complaint, tmp_path):
    path = write(tmp_path / "model", manifest_with(saved, **changes))
    with pytest.raises(ValueError, match=complaint):
        unaligned.load(path)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda model: model.update({"class": "os.system"}), "'os.system' is not an"),
        (
            lambda model: model.update({"class": "unaligned.load"}),
            "'unaligned.load' is",
        ),
        (
            lambda model: model["parameters"].update(gone=1),
            "no parameter 'gone' any more",
        ),
        (lambda model: model["parameters"].update(n_clusters=-1), "must be an int"),
        (lambda model: model["fitted"].update(fit="fit"), "'fit' is not something"),
        (lambda model: model["fitted"].update(__class__="a"), "'__class__' is not"),
    ],
)
def test_a_foreign_model_is_refused(saved, change, complaint, tmp_path):
    path = write(tmp_path / "model", model_with(saved, change))
    with pytest.raises(ValueError, match=complaint):
        unaligned.load(path)


def test_indices_outside_a_sparse_matrix_are_refused(saved, tmp_path):
    members = dict(saved)
    for name, part in {"d": [1.0], "i": [7], "p": [0, 1]}.items():
        members[name] = npy(np.array(part))
    parts = [{"array": name} for name in "dip"]
    content = {"class": "csr_array", "shape": [1, 2], "parts": parts}
    members = manifest_with(members, model={"sparse": content})
    with pytest.raises(ValueError, match="indices must be < 2"):
        unaligned.load(write(tmp_path / "model", members))


def npy(array, **options):
    file = io.BytesIO()
    np.save(file, array, **options)
    return file.getvalue()


def declared(shape, dtype="<f8"):
    """An array that declares a shape and holds 8 bytes."""
    file = io.BytesIO()
    header = {"shape": shape, "fortran_order": False, "descr": dtype}
    np.lib.format.write_array_header_1_0(file, header)
    return file.getvalue() + bytes(8)


class Trap:
    """Unpickled, it would print to where a test looks."""

    def __reduce__(self):
        return print, ("the trap was sprung",)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (declared((10**15,)), "holds 8 bytes"),
        (declared((10**9, 10**9)), "holds 8 bytes"),
        (declared((-1, -1)), "holds 8 bytes"),
        (declared((1,), "|V8"), "neither numbers nor text"),
        (npy(np.array([Trap()]), allow_pickle=True), "neither numbers nor text"),
        (b"\x93NUMPY\x03\x00" + bytes(50), "version"),
        (b"", "EOF|magic"),
    ],
    ids=["huge", "product", "negative", "structured", "pickle", "version", "empty"],
)
def test_arrays_are_checked_before_memory_is_taken(
    saved, content, complaint, tmp_path, capsys
):
    path = write(tmp_path / "model", saved | {"arrays/0.npy": content})
    with pytest.raises(ValueError, match=complaint):
        unaligned.load(path)
    assert capsys.readouterr().out == ""


def test_a_file_that_unpacks_to_more_than_itself_is_refused(saved, tmp_path):
    bomb = saved | {"arrays/0.npy": npy(np.zeros(10**6))}
    path = write(tmp_path / "model", bomb, zipfile.ZIP_DEFLATED)
    with pytest.raises(ValueError, match="unpacks to"):
        unaligned.load(path)


def test_a_nest_of_lists_is_refused(saved, tmp_path):
    text = json.dumps(json.loads(saved["manifest.json"]) | {"model": 0})
    nest = text.replace('"model": 0', '"model": ' + "[" * 10**5 + "]" * 10**5)
    path = write(tmp_path / "model", saved | {"manifest.json": nest})
    with pytest.raises(ValueError, match="not a model"):
        unaligned.load(path)


@given(data=st.data())
def test_a_damaged_file_gives_one_clear_error_or_the_model(
    data, saved, tmp_path_factory
):
    path = write(tmp_path_factory.mktemp("damaged") / "model", saved)
    content = bytearray(path.read_bytes())
    if data.draw(st.booleans(), label="cut"):
        del content[data.draw(st.integers(0, len(content) - 1)) :]
    for _ in range(data.draw(st.integers(0, 3), label="flips") if content else 0):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(content)
    try:
        model = unaligned.load(path)
    except ValueError as error:
        told = str(error)
    else:
        told = f"{type(model).__name__} from {path}"
    assert str(path) in told
