"""Nothing that is killed at a random moment loses more than a step, or leaves a mess.

``UNALIGNED_KILLS`` sets the number of kills, for longer runs.
"""

import json
import os
import re
import signal
import time

import numpy as np
import pytest
import victims
from numpy.testing import assert_array_equal

import unaligned
from unaligned.benchmark.cells import Results
from unaligned.cli._outputs import check_names, check_output, whole_folder
from unaligned.persistence.drafts import MAKER, begin_draft
from unaligned.persistence.saving import read_whole

KILLS = int(os.environ.get("UNALIGNED_KILLS", "6")) // 3

pytestmark = pytest.mark.skipif(os.name != "posix", reason="kills are those of POSIX")


def kills(run, folder, seconds, most=KILLS):
    """Start a run over and over, and kill it at random moments; yield after each."""
    rng = np.random.RandomState(0)
    killed = 0
    while killed < most:
        moment = rng.uniform(0, seconds)
        at_work = victims.kill_after(victims.start(run, folder), moment)
        killed += at_work
        yield at_work


def files_in(folder):
    return {path.name for path in folder.iterdir()}


# --- fit ---------------------------------------------------------------------------


def iterations_told(folder):
    log = folder / "log"
    told = re.findall(r"iteration (\d+):", log.read_text()) if log.exists() else []
    return int(told[-1]) if told else 0


def iterations_kept(folder):
    path = folder / "fit.checkpoint"
    return read_whole(path, "checkpoint", dict)["n_iter"] if path.exists() else 0


def same_answer(found, expected):
    assert_array_equal(found.objective_, expected.objective_)
    for i in range(expected.n_views_):
        assert_array_equal(found.view_labels_[i], expected.view_labels_[i])
        assert_array_equal(
            found.alignment_.permutations[i], expected.alignment_.permutations[i]
        )
    assert found.n_iter_ == expected.n_iter_


def test_a_fit_with_a_checkpoint(tmp_path):
    expected = victims.model().fit(victims.views())
    seconds = victims.duration(victims.fit, tmp_path)
    for path in tmp_path.iterdir():
        path.unlink()
    finished = tmp_path / "fit.model"
    for _ in kills(victims.fit, tmp_path, seconds):
        if finished.exists():
            same_answer(unaligned.load(finished), expected)
            assert not (tmp_path / "fit.checkpoint").exists()
            finished.unlink()
        elif iterations_told(tmp_path) < expected.n_iter_:  # else it was being saved
            lost = iterations_told(tmp_path) - iterations_kept(tmp_path)
            assert lost in (0, 1)
    victims.duration(victims.fit, tmp_path)
    same_answer(unaligned.load(finished), expected)
    assert files_in(tmp_path) == {"fit.model", "log"}


def test_half_a_model(tmp_path):
    """One killed while it is saved, and one that is being saved meanwhile."""
    killed = victims.start(victims.save_slowly, tmp_path)
    process = victims.start(victims.save_slowly, tmp_path)
    while len(parts := files_in(tmp_path)) < 2:
        time.sleep(0.01)
    killed.kill()
    killed.join()
    assert files_in(tmp_path) == parts
    unaligned.PAVuC().save(tmp_path / "a.model")
    assert len(files_in(tmp_path) & parts) == 1  # that of the one at work
    (tmp_path / "go on").touch()
    process.join()
    assert process.exitcode == 0
    assert files_in(tmp_path) == {"a.model", "go on"}
    assert unaligned.load(tmp_path / "a.model").n_clusters == 7


# --- unaligned bench ---------------------------------------------------------------


def scores(path):
    """What every cell scored; time and memory differ from run to run."""
    names = ("status", "acc", "nmi", "f", "ari", "purity", "label_free")
    return {
        cell.key: [record[name] for name in names] for cell, record in Results(path)
    }


def test_a_benchmark(tmp_path):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    whole.mkdir()
    killed.mkdir()
    seconds = victims.duration(victims.bench, whole)
    cells, kept = killed / "bench" / "cells.jsonl", 0
    for _ in kills(victims.bench, killed, seconds):
        lines = cells.read_bytes().splitlines() if cells.exists() else []
        assert all(json.loads(line) for line in lines[:-1])
        assert len(Results(cells)) >= kept
        kept = len(Results(cells))
    victims.duration(victims.bench, killed)
    assert scores(cells) == scores(whole / "bench" / "cells.jsonl")
    # No cell that was there was run again.
    records = [json.loads(line) for line in cells.read_bytes().splitlines()]
    assert len(records) == len(Results(cells)) + len(Results(cells).environments)


# --- unaligned cluster -------------------------------------------------------------


def tables_in(folder):
    return {path.name: path.read_bytes() for path in folder.glob("*.csv")}


def answer_in(out):
    """Tables of an output folder, which must be complete.

    A kill may leave a draft in it, or results of which some are moved already; the
    next command removes the one and finishes the other.
    """
    drafts = {path.name for path in out.glob(".unaligned-*")}
    moving = list(out.glob(".unaligned-*/ready"))
    tables = {n: x for n, x in tables_in(out).items() if n not in OF_THE_USER}
    if moving:
        return tables | tables_in(moving[0])
    summary = json.loads((out / "summary.json").read_text())
    assert set(summary["files"]) == files_in(out) - drafts - set(OF_THE_USER)
    return tables


OF_THE_USER = [
    ".keep.precious.part",
    ".kept.mine.ready",
    ".out.0a1b2c3d.part",
    ".unaligned-mine.part",
    "labels_mine.csv",
    "notes.txt",
]


def put_files_of_the_user(folder):
    for name in OF_THE_USER:
        (folder / name).write_text(f"{name}, and nobody else's")


def assert_nothing_of_the_user_is_lost(folder):
    for name in OF_THE_USER:
        assert (folder / name).read_text() == f"{name}, and nobody else's"


def test_clusters_of_files(tmp_path):
    out = tmp_path / "out"
    victims.write_views(tmp_path)
    seconds = victims.duration(victims.cluster, tmp_path)
    expected = answer_in(out)
    assert len(expected) == 4
    put_files_of_the_user(out)
    put_files_of_the_user(tmp_path)
    for _ in kills(victims.cluster, tmp_path, seconds):
        # There were results, so these or the new ones are there: both are the same.
        assert answer_in(out) == expected
        assert_nothing_of_the_user_is_lost(out)
    victims.duration(victims.cluster, tmp_path)
    assert answer_in(out) == expected
    for folder, others in (out, expected), (tmp_path, {"a.npy", "b.npy", "log", "out"}):
        assert_nothing_of_the_user_is_lost(folder)
        assert files_in(folder) >= {*others, *OF_THE_USER}
        assert not set(folder.glob(".unaligned-*")) - {folder / ".unaligned-mine.part"}


def move_results(out, moves):
    process = victims.start(victims.move_results, out, moves)
    process.join()
    return process.exitcode


@pytest.mark.parametrize("moves", range(4))
def test_results_that_replace_others_are_finished_by_the_next_command(tmp_path, moves):
    out = tmp_path / "out"
    out.mkdir()
    for name in ("old.csv", "both.csv", "mine.txt"):
        (out / name).write_text("old")
    summary = {"kind": "unaligned results", "files": ["old.csv", "both.csv"]}
    (out / "summary.json").write_text(json.dumps(summary))
    assert move_results(out, moves) == -signal.SIGKILL
    if moves > 0:
        assert not (out / "summary.json").exists()  # nobody takes it for complete
    assert move_results(out, moves=99) == 0
    assert files_in(out) == {"both.csv", "mine.txt", "new.csv", "summary.json"}
    assert (out / "both.csv").read_text() == "new"
    assert (out / "mine.txt").read_text() == "old"


def test_the_draft_of_a_command_at_work_is_left_alone(tmp_path):
    out = tmp_path / "out"
    with whole_folder(out) as folder:
        (folder / "summary.json").write_text("{}")
        check_output(out, force=False)
        assert folder.exists()
    assert files_in(out) == {"summary.json"}


@pytest.mark.parametrize("parents", [0, 1, 2])
def test_the_draft_of_a_killed_command_goes(tmp_path, parents):
    """It lies in the nearest folder that existed: in the output, or above it."""
    out = tmp_path / "a" / "b"
    place = [out, *out.parents][parents]
    place.mkdir(parents=True, exist_ok=True)
    draft = begin_draft(place, out)
    (draft.folder / "draft").mkdir()
    (draft.folder / "draft" / "labels.csv").write_text("half")
    os.close(draft.lock)
    check_output(out, force=False)
    assert files_in(place) == set()


def abandoned_folder(place, proof=None, name=".unaligned-0123456789abcdef.part"):
    """A folder that could be taken for a draft."""
    folder = place / name
    folder.mkdir()
    (folder / "draft").mkdir()
    (folder / "draft" / "thesis.txt").write_text("mine")
    if proof is not None:
        (folder / MAKER).write_bytes(proof)
    return folder


def test_a_folder_without_proof_is_not_ours(tmp_path):
    out = tmp_path / "out"
    sound = begin_draft(tmp_path, out)
    proof = (sound.folder / MAKER).read_bytes()
    sound.remove()
    others = [
        abandoned_folder(tmp_path),
        abandoned_folder(tmp_path, b"", ".unaligned-1123456789abcdef.part"),
        abandoned_folder(tmp_path, proof, ".unaligned-2123456789abcdef.part"),
        abandoned_folder(tmp_path, b"mine", ".unaligned-3123456789abcdef.part"),
        abandoned_folder(tmp_path, proof, ".out.precious.part"),
        abandoned_folder(tmp_path, proof, ".out.precious.ready"),
    ]
    linked = tmp_path / ".unaligned-4123456789abcdef.part"
    linked.symlink_to(others[0])
    os.mkfifo(others[0] / MAKER)
    unfinished = tmp_path / ".unaligned-5123456789abcdef.part"
    unfinished.mkdir()  # killed at the very first step
    check_output(out, force=False)
    assert not unfinished.exists()
    assert linked.is_symlink()
    assert all((path / "draft" / "thesis.txt").read_text() == "mine" for path in others)


def test_results_never_replace_a_file_of_the_user(tmp_path):
    """A report of theirs, say, beside results that were written without one."""
    out = tmp_path / "out"
    out.mkdir()
    (out / "summary.json").write_text(
        json.dumps({"kind": "unaligned results", "files": ["old.csv", "summary.json"]})
    )
    (out / "report.html").write_text("mine")
    (out / "old.csv").write_text("old")
    with pytest.raises(
        Exception, match=r"report.html is not among the earlier results"
    ):
        check_names(out, ["report.html", "old.csv"])

    def write(folder):
        with whole_folder(folder) as draft:
            for name in ("report.html", "old.csv", "summary.json"):
                (draft / name).write_text("new")

    with pytest.raises(
        Exception, match=r"report.html is not among the earlier results"
    ):
        write(out)
    assert files_in(out) == {"old.csv", "report.html", "summary.json"}
    assert (out / "old.csv").read_text() == "old"
    assert (out / "report.html").read_text() == "mine"
