"""Model files forged in hundreds of ways, and what a forged model can do.

`load` gives a model or one ValueError. A model whose parts do not fit can fail when it
is used, like any object with wrong attributes, but with an exception of Python's.
"""

import copy
import io
import json
import os
import random
import zipfile
from collections import Counter

import numpy as np
import pytest

import unaligned
from tests.conftest import make_blobs
from unaligned import PAVuC
from unaligned.baselines import LMVSC

CASES = int(os.environ.get("UNALIGNED_FUZZ_CASES", "700")) // 3

VALUES = [
    None, True, 0, -1, 3, 1e300, 2**70, "", "x", [], [1], {}, {"array": "arrays/0.npy"},
    {"scalar": "arrays/1.npy"}, {"tuple": []}, {"float": "nan"}, {"float": "much"},
    {"dict": [[1, 2]]}, {"dict": [[[1], 2]]}, {"path": "/etc/passwd"},
    {"strings": ["a"]}, {"random_state": []}, {"array": "../manifest.json"},
    {"estimator": {"class": "unaligned.PAVuC", "parameters": {}, "fitted": {}}},
    {"estimator": {"class": "os.system", "parameters": {}, "fitted": {}}},
    {"record": {"class": "Alignment", "fields": {}}},
    {"sparse": {"class": "csr_array", "shape": [1, 1], "parts": []}},
    {"sparse": {"class": "csr_array", "shape": [2**40, 2**40], "parts": []}},
]  # fmt: skip


def places(tree, path=()):
    """Paths of all entries of a tree of JSON."""
    entries = tree.items() if isinstance(tree, dict) else enumerate(tree)
    for key, entry in entries:
        yield (*path, key)
        if isinstance(entry, dict | list):
            yield from places(entry, (*path, key))


def at(tree, path):
    for key in path:
        tree = tree[key]
    return tree


def forged_manifest(text, chance):
    tree = json.loads(text)
    for _ in range(chance.choice([1, 1, 2, 3])):
        everywhere = list(places(tree))
        *way, last = chance.choice(everywhere)
        way_of_forging = chance.random()
        if way_of_forging < 0.15:
            del at(tree, way)[last]
        elif way_of_forging < 0.3:
            other = copy.deepcopy(at(tree, chance.choice(everywhere)))
            at(tree, way)[last] = other
        else:
            at(tree, way)[last] = copy.deepcopy(chance.choice(VALUES))
    return json.dumps(tree).encode()


def forged_array(content, chance):
    array = np.load(io.BytesIO(content))
    forgeries = [
        lambda: array.ravel(),
        lambda: np.atleast_1d(array)[: array.size // 2],
        lambda: np.zeros(array.shape, chance.choice(["f4", "i8", "U5", "?", "c16"])),
        lambda: np.full(array.shape, chance.choice([-1, 10**6, 2**62])),
        lambda: np.full(array.shape, chance.choice([np.nan, np.inf, -1e308, 0.0])),
        lambda: array.T,
        lambda: np.zeros(chance.choice([(0,), (0, 3), (1, 1, 1), ()])),
    ]
    file = io.BytesIO()
    np.save(file, chance.choice(forgeries)(), allow_pickle=False)
    return file.getvalue()


def forged(members, chance):
    members = dict(members)
    if chance.random() < 0.6:
        manifest = forged_manifest(members["manifest.json"], chance)
        return members | {"manifest.json": manifest}
    arrays = [name for name in members if name.endswith(".npy")]
    for name in chance.sample(arrays, chance.choice([1, 1, 2, 3])):
        members[name] = forged_array(members[name], chance)
    return members


def use(model, Xs):
    """Ask a model everything that may rest on forged parts."""
    for ask in (
        lambda: model.predict(Xs[1], view=1),
        lambda: model.alignment_.pairs(0, 1),
        lambda: model.alignment_.trusted_pairs(),
        lambda: model.single_view_labels_,
        lambda: repr(model),
    ):
        with np.errstate(all="ignore"):
            try:
                ask()
            except Exception:
                continue


@pytest.mark.filterwarnings("ignore")  # of NumPy and scikit-learn, about wrong numbers
@pytest.mark.parametrize("cls", [LMVSC, PAVuC])
def test_a_forged_file_gives_a_model_or_a_value_error(
    cls, tmp_path, capfd, monkeypatch
):
    Xs = make_blobs(n=12)[0]
    cls(2, n_init=1, random_state=0).fit(Xs).save(tmp_path / "sound")
    with zipfile.ZipFile(tmp_path / "sound") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    results = Counter()
    for seed in range(CASES):
        chance = random.Random(seed)
        path = tmp_path / "forged"
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in forged(members, chance).items():
                archive.writestr(name, content)
        try:
            model = unaligned.load(path)
        except ValueError as error:
            results["refused" if str(path) in str(error) else str(error)] += 1
        else:
            results["loaded"] += 1
            if seed % 4 == 0:
                use(model, Xs)
    assert results["refused"] > CASES / 5
    assert results["refused"] + results["loaded"] == CASES
    assert not list((tmp_path / "here").iterdir())
    assert capfd.readouterr() == ("", "")
