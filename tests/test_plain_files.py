"""Pipes, sockets and devices are no files, wherever a file is named."""

import os
import signal
import socket
from contextlib import contextmanager

import numpy as np
import pytest
from click.testing import CliRunner

import unaligned
from tests.conftest import make_blobs
from unaligned import PAVuC, SAVuC
from unaligned.cli import main
from unaligned.datasets import read_view
from unaligned.datasets._registry import local_files
from unaligned.json_lines import append_record, read_records
from unaligned.plain_files import check_plain
from unaligned.selection import LabelFreeSearch

pytestmark = pytest.mark.skipif(os.name != "posix", reason="pipes of POSIX")

WAIT = 60  # seconds: what hangs would do so for ever


@pytest.fixture
def pipe(tmp_path):
    path = tmp_path / "a.csv"
    os.mkfifo(path)
    return path


@contextmanager
def at_most(seconds):
    """End what waits for a pipe, which nothing else would."""

    def give_up(*_):
        raise AssertionError("waited for a pipe")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def test_what_is_no_file(tmp_path, pipe):
    with pytest.raises(ValueError, match="a named pipe, not a file"):
        check_plain(pipe)
    with pytest.raises(ValueError, match="a device, not a file"):
        check_plain("/dev/zero")
    (tmp_path / "link").symlink_to("/dev/zero")
    with pytest.raises(ValueError, match="a device, not a file"):
        check_plain(tmp_path / "link")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s"))
        with pytest.raises(ValueError, match="a socket, not a file"):
            check_plain(tmp_path / "s")
    (tmp_path / "file").touch()
    for path in ("file", "nothing", "x" * 1000, "."):
        check_plain(tmp_path / path)


@pytest.mark.parametrize("command", ["cluster", "align"])
def test_a_command_does_not_wait_for_a_pipe(tmp_path, pipe, command):
    np.save(tmp_path / "b.npy", np.eye(5))
    (tmp_path / "pairs.csv").symlink_to(pipe)
    for files in (
        [pipe, tmp_path / "b.npy"],
        [tmp_path / "b.npy", tmp_path / "b.npy", "--pairs", tmp_path / "pairs.csv"],
    ):
        arguments = [command, *map(str, files), "-o", str(tmp_path / "out")]
        with at_most(WAIT):
            run = CliRunner().invoke(main, arguments)
        assert run.exit_code == 1
        assert "is a named pipe, not a file" in run.stderr
        assert not (tmp_path / "out").exists()


def test_every_door(pipe):
    Xs = make_blobs(n=12)[0]
    fitted = PAVuC(2, n_init=1, max_iter=1).fit(Xs)
    search = LabelFreeSearch(PAVuC(), {"n_clusters": [2]}, checkpoint=pipe)
    for enter in (
        lambda: read_view(pipe),
        lambda: unaligned.load(pipe),
        lambda: fitted.save(pipe),
        lambda: fitted.report(pipe),
        lambda: PAVuC(2, checkpoint=pipe).fit(Xs),
        lambda: SAVuC(2, checkpoint=pipe).fit(Xs),
        lambda: search.fit(Xs),
        lambda: list(read_records(pipe)),
        lambda: append_record(pipe, {}),
    ):
        with pytest.raises(ValueError, match="a named pipe, not a file"):
            enter()
    assert pipe.is_fifo()


def test_a_pipe_among_datasets_is_passed_over(tmp_path):
    os.mkfifo(tmp_path / "Wiki.mat")
    assert "wiki" not in local_files(tmp_path)


def test_pipes_where_results_are_kept(tmp_path):
    (tmp_path / "out").mkdir()
    os.mkfifo(tmp_path / "out" / "summary.json")
    os.mkfifo(tmp_path / "out" / "cells.jsonl")
    np.save(tmp_path / "b.npy", np.eye(5))
    out = ["--output", str(tmp_path / "out")]
    done = CliRunner().invoke(main, ["cluster", str(tmp_path / "b.npy"), *out])
    assert done.exit_code == 1
    assert "holds other files" in done.output
    for command in (["table4", "--quick"], ["page"]):
        done = CliRunner().invoke(main, ["bench", *command, *out])
        assert done.exit_code == 1
        assert "a named pipe, not a file" in done.output
