"""Model and checkpoint files forged in any number of ways."""

import copy
import io
import json
import zipfile

import numpy as np

from unaligned import Alignment
from unaligned.baselines import PVC
from unaligned.baselines._deep import FrozenEncoder, Scaling

VALUES = [
    None, True, 0, -1, 3, 625, 2**31, 1e300, 2**70, -(2**70), -0.5, "", "x", [], [1],
    {}, {"array": "arrays/0.npy"},
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


def forged_manifest(text, chance, case):
    """Forge the entry whose turn it is, so that every one is, and perhaps others."""
    tree = json.loads(text)
    for forgery in range(chance.choice([1, 1, 2, 3])):
        everywhere = list(places(tree))
        whose_turn = everywhere[case % len(everywhere)]
        *way, last = chance.choice(everywhere) if forgery else whose_turn
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


def forged(members, chance, case):
    """Members of an archive, some of them forged."""
    members = dict(members)
    if chance.random() < 0.6:
        manifest = forged_manifest(members["manifest.json"], chance, case)
        return members | {"manifest.json": manifest}
    arrays = [name for name in members if name.endswith(".npy")]
    for name in chance.sample(arrays, chance.choice([1, 1, 2, 3])):
        members[name] = forged_array(members[name], chance)
    return members


def members_of(path):
    """Read an archive."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write_members(path, members):
    """Write an archive."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def networks(cls=PVC):
    """A model with encoders, made without a fit, which would need torch."""
    n, rng = 12, np.random.default_rng(0)
    y, widths = np.arange(n) % 2, [5, 4]
    latents = [rng.normal(size=(n, 3)).astype(np.float32) for _ in widths]
    model = cls(2)
    model._encoders = [
        FrozenEncoder(
            Scaling(np.zeros(d), np.ones(d)),
            [rng.normal(size=(d, 3)).astype(np.float32)],
            [np.zeros(3, np.float32)],
            False,
        )
        for d in widths
    ]
    model.n_views_, model.view_names_in_ = 2, ["0", "1"]
    model.n_features_per_view_, model.n_features_in_ = widths, sum(widths)
    model.n_clusters_, model.n_iter_, model.converged_ = 2, 3, True
    model.labels_, model.view_labels_, model.template_ = y, [y, y], 0
    rows = [np.arange(n)] * 2
    model.alignment_ = Alignment(0, rows, [np.ones(n)] * 2, np.ones(2), ["0", "1"])
    model.latents_, model.embedding_ = latents, np.hstack(latents)
    model.cluster_centers_ = model.embedding_[:2]
    return model
