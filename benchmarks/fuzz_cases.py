"""Cases of ``benchmarks.fuzz``: a model, a checkpoint or a data file, forged."""

import copy
import json
import random
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from tests.conftest import make_blobs
from tests.datasets import test_hostile_files as hostile
from tests.torture.forging import (
    VALUES,
    at,
    forged,
    members_of,
    networks,
    places,
    write_members,
)
from unaligned import checkpoints, load
from unaligned.datasets.readers import hdf5
from unaligned.estimators import ESTIMATORS
from unaligned.persistence.saving import MANIFEST
from unaligned.savuc.config import EFFORTS
from unaligned.selection import LabelFreeSearch

__all__ = ["KINDS", "TARGETS"]

MODELS = [*ESTIMATORS, "LabelFreeSearch"]
# Their fits need torch: models are made by hand.
NETWORKS = ("PVC", "MvCLN", "SURE", "SMILE", "CPMN")
CHECKPOINTS = ["PAVuC", "VuCG", "SAVuC"]
FILES = {
    **hostile.WRITERS,
    "h5ad": (hostile.write_h5ad, "a.h5ad"),
    "h5mu": (hostile.write_h5mu, "a.h5mu"),
    "mat 7.3": (hostile.write_matlab73, "a.mat"),
}
TARGETS = {
    "models": [
        *(f"model {name}" for name in MODELS),
        *(f"checkpoint {name}" for name in CHECKPOINTS),
    ],
    "entries": [f"entries {name}" for name in MODELS],
    "files": [f"file {name}" for name in FILES],
}


def small_views() -> list[Any]:
    """Make views that every estimator takes."""
    return [np.abs(X) for X in make_blobs(n=12)[0]]


def small_model(name: str) -> Any:
    """Make an estimator of two clusters that is quick to fit."""
    if name == "LabelFreeSearch":
        return LabelFreeSearch(ESTIMATORS["PAVuC"](), {"n_clusters": [2, 3]})
    few = {"n_init": 1, "effort": EFFORTS["quick"], "max_iter": 5, "tol": 0}
    cls = ESTIMATORS[name]
    known = few.keys() & cls._get_param_names()
    return cls(2, **{parameter: few[parameter] for parameter in known})


def questions(model: Any, Xs: list[Any]) -> Iterator[Callable[[], Any]]:
    """Everything that can be asked of a fitted model, and rests on its parts."""
    yield lambda: re.sub(" at 0x\\w+", "", repr(model))
    if not hasattr(model, "labels_"):
        return
    for i, X in enumerate(Xs):
        for method in ("predict", "transform"):
            if hasattr(type(model), method):
                yield lambda i=i, X=X, method=method: getattr(model, method)(X, i)
    if hasattr(type(model), "align_new"):
        yield lambda: repr(model.align_new(dict(enumerate(Xs))))
    if hasattr(type(model), "translate"):
        yield lambda: model.translate(Xs[0], 0, 1, return_std=True)
    yield lambda: model.labels_
    yield lambda: model.alignment_.pairs(0, 1)
    yield lambda: list(model.alignment_.trusted_pairs().values())
    yield lambda: model.alignment_.to_frame().to_numpy(dtype=str)
    yield lambda: repr(model.alignment_)
    yield lambda: model.alignment_._repr_html_()
    if hasattr(type(model), "single_view_labels_"):
        yield lambda: model.single_view_labels_
    if isinstance(model.random_state, np.random.RandomState):
        yield lambda: model.random_state.normal(size=2000)


def answers(model: Any, Xs: list[Any]) -> list[str]:
    """Ask a model everything; a sentence is an answer, too."""
    given = []
    for ask in questions(model, Xs):
        try:
            given.append(repr(ask()))
        except ValueError as error:
            if not str(error).endswith((".", ")")):
                raise
            given.append(str(error))
    return given


class ModelCases:
    """Models of one estimator; a case loads a forged one and asks it everything."""

    n_cases = sys.maxsize

    def __init__(self, name: str, folder: Path) -> None:
        self.Xs, self.path = small_views(), folder / "a.model"
        if name in NETWORKS:
            model = networks(ESTIMATORS[name])
            self.Xs = [X[:, :d] for X, d in zip(self.Xs, (5, 4), strict=False)]
        else:
            model = small_model(name).fit(self.Xs, aligned=6)
        if name != "LabelFreeSearch":
            model.set_params(random_state=np.random.RandomState(0))
        model.save(self.path)
        self.members = members_of(self.path)
        self.sound = answers(load(self.path), self.Xs)

    def run(self, case: int, chance: random.Random) -> str:
        """How a case ends."""
        write_members(self.path, self.forged(case, chance))
        try:
            model = load(self.path)
        except ValueError as error:
            return "refused" if str(self.path) in str(error) else f"unworded {error!r}"
        return asked(model, self.Xs, self.sound)

    def forged(self, case: int, chance: random.Random) -> dict[str, bytes]:
        """Members of a forged file."""
        return forged(self.members, chance, case)


class EntryCases(ModelCases):
    """Models with every entry of the manifest in turn left out, then another value."""

    def __init__(self, name: str, folder: Path) -> None:
        super().__init__(name, folder)
        self.tree = json.loads(self.members[MANIFEST])
        self.entries = list(places(self.tree))
        self.n_cases = 2 * len(self.entries)

    def forged(self, case: int, chance: random.Random) -> dict[str, bytes]:
        """Members of a forged file."""
        tree, n_entries = copy.deepcopy(self.tree), len(self.entries)
        *way, last = self.entries[case % n_entries]
        if case < n_entries:
            del at(tree, way)[last]
        else:
            at(tree, way)[last] = copy.deepcopy(chance.choice(VALUES))
        return self.members | {MANIFEST: json.dumps(tree).encode()}


class CheckpointCases:
    """Checkpoints of one estimator; a case goes on with the fit from a forged one."""

    n_cases = sys.maxsize

    def __init__(self, name: str, folder: Path) -> None:
        self.Xs, self.name, self.path = small_views(), name, folder / "a.checkpoint"
        self.sound = answers(self.fit(), self.Xs)
        write, n_written = checkpoints.write_whole, 0

        def stop_at_the_second(*arguments: Any) -> None:
            nonlocal n_written
            write(*arguments)
            n_written += 1
            if n_written == 2:
                raise KeyboardInterrupt

        checkpoints.SHARE_FOR_WRITING = np.inf
        checkpoints.write_whole = stop_at_the_second
        with suppress(KeyboardInterrupt):
            self.fit()
        checkpoints.write_whole = write
        self.members = members_of(self.path)

    def fit(self) -> Any:
        """Fit from the checkpoint, if there is one."""
        settings = {"checkpoint": self.path, "random_state": 0}
        return small_model(self.name).set_params(**settings).fit(self.Xs)

    def run(self, case: int, chance: random.Random) -> str:
        """How a case ends."""
        write_members(self.path, forged(self.members, chance, case))
        try:
            model = self.fit()
        except ValueError as error:
            return "refused" if str(self.path) in str(error) else f"unworded {error!r}"
        except Exception as error:
            return f"unworded {error!r}"
        return asked(model, self.Xs, self.sound)


class FileCases:
    """Files of one format; a case reads a damaged one."""

    n_cases = sys.maxsize

    def __init__(self, name: str, folder: Path) -> None:
        write, file = FILES[name]
        self.path = folder / file
        write(self.path)
        self.content = self.path.read_bytes()
        hdf5.PATIENCE = 5.0

    def run(self, case: int, chance: random.Random) -> str:
        """How a case ends."""
        self.path.write_bytes(hostile.damage(self.content, chance.random()))
        ended = hostile.outcome(self.path)
        return ended if ended in ("read", "refused") else f"unworded {ended}"


def asked(model: Any, Xs: list[Any], sound: list[str]) -> str:
    """How it ends to ask a model: with the sound answers, or with others."""
    try:
        return "right" if answers(model, Xs) == sound else "other answers"
    except Exception as error:
        return f"unworded {error!r}"


KINDS: dict[str, Any] = {
    "model": ModelCases,
    "entries": EntryCases,
    "checkpoint": CheckpointCases,
    "file": FileCases,
}
