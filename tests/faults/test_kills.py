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
from unaligned.saving import read_whole

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
    drafts = {path.name for path in out.glob(".out.*.part")}
    moving = list(out.glob(".out.*.ready"))
    if moving:
        return tables_in(out) | tables_in(moving[0])
    summary = json.loads((out / "summary.json").read_text())
    assert set(summary["files"]) == files_in(out) - drafts
    return tables_in(out)


def test_clusters_of_files(tmp_path):
    out = tmp_path / "out"
    victims.write_views(tmp_path)
    seconds = victims.duration(victims.cluster, tmp_path)
    expected = answer_in(out)
    assert len(expected) == 3
    for _ in kills(victims.cluster, tmp_path, seconds):
        # There were results, so these or the new ones are there: both are the same.
        assert answer_in(out) == expected
    victims.duration(victims.cluster, tmp_path)
    assert answer_in(out) == expected
    assert not list(tmp_path.rglob(".out.*"))
    assert files_in(tmp_path) == {"a.npy", "b.npy", "log", "out"}


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
    from unaligned.cli._outputs import check_output, whole_folder

    out = tmp_path / "out"
    with whole_folder(out) as folder:
        (folder / "summary.json").write_text("{}")
        check_output(out, force=False)
        assert folder.exists()
    assert files_in(out) == {"summary.json"}
    abandoned = tmp_path / ".out.abcd.part"
    abandoned.mkdir()
    with pytest.raises(Exception, match="holds other files"):
        check_output(out, force=False)
    assert not abandoned.exists()
