"""Forged models and checkpoints, and damaged data files, read in child processes.

``python -m benchmarks.fuzz`` runs 3,000 of each kind and prints how they ended. Results
are kept, a JSON line each; the same command goes on where it was stopped.
"""

import argparse
import faulthandler
import os
import random
import re
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from tests.conftest import make_blobs
from tests.datasets import test_hostile_files as hostile
from tests.torture.forging import forged, members_of, networks, write_members
from unaligned import checkpoints, load
from unaligned.datasets.readers import hdf5
from unaligned.estimators import ESTIMATORS
from unaligned.json_lines import append_record, read_records
from unaligned.selection import LabelFreeSearch

RESULTS = Path("benchmarks/out/fuzz.jsonl")
PATIENCE = 60.0  # seconds for a case; the slowest sound one takes two
MOST_MEMORY = 8 << 30  # bytes of a child's address space

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
    "files": [f"file {name}" for name in FILES],
}
# Ends that nobody should see.
BAD = ("crash", "hang", "unworded")


def small_views() -> list[Any]:
    """Make views that every estimator takes."""
    return [np.abs(X) for X in make_blobs(n=12)[0]]


def small_model(name: str) -> Any:
    """Make an estimator of two clusters that is quick to fit."""
    if name == "LabelFreeSearch":
        return LabelFreeSearch(ESTIMATORS["PAVuC"](), {"n_clusters": [2, 3]})
    few = {"n_init": 1, "effort": "quick", "max_iter": 5, "tol": 0}
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
        write_members(self.path, forged(self.members, chance, case))
        try:
            model = load(self.path)
        except ValueError as error:
            return "refused" if str(self.path) in str(error) else f"unworded {error!r}"
        return asked(model, self.Xs, self.sound)


class CheckpointCases:
    """Checkpoints of one estimator; a case goes on with the fit from a forged one."""

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
    "checkpoint": CheckpointCases,
    "file": FileCases,
}


def run_child(target: str, start: int, end: int) -> None:
    """Run cases, and print a line for each."""
    with suppress(ImportError):  # Windows
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    kind, _, name = target.partition(" ")
    with tempfile.TemporaryDirectory() as folder:
        cases = KINDS[kind](name, Path(folder))
        print("begin", flush=True)
        for case in range(start, end):
            faulthandler.dump_traceback_later(PATIENCE, exit=True)
            print(cases.run(case, random.Random(f"{target} {case}")), flush=True)
        faulthandler.cancel_dump_traceback_later()


def run_target(target: str, n_cases: int, results: Path) -> Counter[str]:
    """Run the cases of a target that have no result yet; count all ends."""
    ended = {
        record["case"]: record["end"]
        for record in read_records(results)
        if record["target"] == target and record["case"] < n_cases
    }

    def note(case: int, end: str) -> None:
        ended[case] = end
        append_record(results, {"target": target, "case": case, "end": end})

    while (
        case := next((i for i in range(n_cases) if i not in ended), None)
    ) is not None:
        command = [sys.executable, "-m", "benchmarks.fuzz", "--child", target]
        with (
            tempfile.TemporaryFile("w+") as complaints,
            subprocess.Popen(
                [*command, str(case), str(n_cases)],
                stdout=subprocess.PIPE,
                stderr=complaints,
                text=True,
            ) as child,
        ):
            assert child.stdout is not None
            begun = child.stdout.readline()
            if not begun:
                complaints.seek(0)
                raise RuntimeError(f"{target}: {complaints.read().strip()[-500:]}")
            for line in child.stdout:
                note(case, line.strip())
                case += 1
        if case < n_cases:
            note(case, "crash" if child.returncode < 0 else "hang")
    return Counter("unworded" if "unworded" in end else end for end in ended.values())


def main() -> None:
    """Run all cases, and print a line for every target."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", default=[], help="models, files, or both")
    parser.add_argument("--cases", type=int, default=3000, help="of each kind")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        target, start, end = options.child
        return run_child(target, int(start), int(end))
    options.results.parent.mkdir(parents=True, exist_ok=True)
    for kind in options.kinds or TARGETS:
        targets = TARGETS[kind]
        total: Counter[str] = Counter()
        for i, target in enumerate(targets):
            n_cases = options.cases * (i + 1) // len(
                targets
            ) - options.cases * i // len(targets)
            ends = run_target(target, n_cases, options.results)
            total += ends
            print(f"{target:26} {dict(ends)}", flush=True)
        bad = {end: total[end] for end in BAD}
        print(f"{kind}: {total.total()} cases, {dict(total)}; {bad}", flush=True)
    return None


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
