"""The command, in a process of its own where it is killed."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from click.testing import CliRunner

from unaligned.benchmark import protocol
from unaligned.benchmark.cells import Results
from unaligned.cli import main

SMALL = ["--quick", "--rows", "60", "--methods", "LMVSC,single view,random labels"]


def run(*arguments):
    return CliRunner().invoke(main, ["bench", *map(str, arguments)])


def command(*arguments):
    return [sys.executable, "-m", "unaligned", "bench", *map(str, arguments)]


def no_file(name):
    raise OSError("no file")


def test_one_command_runs_prints_and_writes_the_page(tmp_path):
    result = run("table4", *SMALL, "--jobs", 1, "--output", tmp_path)
    assert result.exit_code == 0, result.output
    for word in ("Table 4: digits (60 rows)", "oracle", "label-free", "random labels"):
        assert word in result.output
    assert {path.name for path in tmp_path.iterdir()} >= {
        "cells.jsonl", "page.html", "page.md",
    }  # fmt: skip
    cells = len(Results(tmp_path / "cells.jsonl"))
    again = run("table4", *SMALL, "--jobs", 1, "--output", tmp_path)
    assert again.exit_code == 0
    assert len(Results(tmp_path / "cells.jsonl")) == cells
    assert "cells." not in again.output  # nothing was run


@pytest.mark.parametrize("what", ["table4", "shuffles"])
def test_a_folder_that_cannot_be_made_is_told_at_once(what, tmp_path, monkeypatch):
    monkeypatch.setattr(protocol, "load_views", None)  # nobody comes so far
    result = run(what, "--output", tmp_path / ("x" * 300) / "out")
    assert result.exit_code == 1
    assert "cannot be made or written into" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_page_can_be_made_again_from_the_results_alone(tmp_path):
    run("figure6", "--quick", "--rows", 60, "--jobs", 1, "--output", tmp_path)
    for path in (tmp_path / "page.html", *(tmp_path / "figures").iterdir()):
        path.unlink()
    assert run("page", "--output", tmp_path).exit_code == 0
    assert "Figure 6: digits (60 rows)" in (tmp_path / "page.html").read_text("utf-8")
    assert [path.suffix for path in (tmp_path / "figures").iterdir()] == [".svg"]


def start_and_wait(tmp_path, lines):
    """Start a run that takes a while, and wait until it has written some lines."""
    process = subprocess.Popen(
        command("table4", "--quick", "--rows", 150, "--jobs", 1, "--output", tmp_path),
        stdout=subprocess.PIPE,
        text=True,
    )
    path = tmp_path / "cells.jsonl"
    deadline = time.monotonic() + 300
    while not path.exists() or path.read_bytes().count(b"\n") < lines:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return process, path


def test_a_killed_run_loses_the_cell_in_flight_only(tmp_path):
    process, path = start_and_wait(tmp_path, lines=4)
    process.kill()
    process.wait()
    process.stdout.close()
    lines = path.read_bytes().splitlines()
    assert all(json.loads(line) for line in lines[:-1])
    kept = len(Results(path))
    assert kept >= len(lines) - 2  # one is the machine's, one may be torn
    methods = "LMVSC,FPMVSCAG"
    options = ["--quick", "--rows", 150, "--methods", methods, "--jobs", 1]
    result = run("table4", *options, "--no-page", "--output", tmp_path)
    assert result.exit_code == 0, result.output
    records = [json.loads(line) for line in path.read_bytes().splitlines()]
    keys = [json.dumps(r, sort_keys=True) for r in records if "is" not in r]
    assert len(keys) == len(set(keys)) == len(Results(path)) >= kept


def test_a_run_that_is_stopped_says_how_to_go_on(tmp_path):
    process, path = start_and_wait(tmp_path, lines=3)
    process.send_signal(signal.SIGTERM)  # taken for Ctrl-C
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "the same command goes on" in " ".join(output.split())
    assert len(Results(path)) >= 2


def test_shuffles_are_written_as_files(tmp_path):
    result = run(
        "shuffles", "--datasets", "digits", "--ratios", "0.5", "--output", tmp_path
    )
    assert result.exit_code == 0, result.output
    files = sorted((tmp_path / "shuffles").iterdir())
    assert len(files) == 10
    head, *rows = files[3].read_text().splitlines()
    assert head == "view0,view1,view2,view3"
    orders = list(zip(*(map(int, row.split(",")) for row in rows), strict=True))
    digest = protocol.published_digests()[1797, 4, 0.5, 3]
    assert protocol.digest([np.array(order) for order in orders]) == digest


def test_without_data_it_says_what_can_be_done(tmp_path, monkeypatch):
    monkeypatch.setenv("UNALIGNED_DATA", str(tmp_path))
    monkeypatch.setattr(protocol, "load", no_file)
    result = run("table4", "--output", tmp_path)
    assert result.exit_code == 1
    assert "Without Wiki: no file" in result.output
    assert "--quick" in result.output
    result = run("table4", "--datasets", "wiki", "--output", tmp_path)
    assert result.exit_code == 1
    assert "Error: no file" in result.output


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--methods", "nonsense"], "There is no method 'nonsense'"),
        (["--ratios", "0,2"], "shares lie between 0 and 1"),
        (["--ratios", "a"], "is no list of numbers"),
        (["--shuffles", "0"], "--shuffles"),
    ],
)
def test_wrong_options_are_refused_with_a_reason(options, complaint):
    result = run("figure4", *options)
    assert result.exit_code == 2
    assert complaint in result.output


@pytest.mark.slow
def test_without_the_extra_there_are_tables_and_a_word_on_the_page(
    tmp_path, monkeypatch
):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    result = run("table4", *SMALL, "--jobs", 1, "--output", tmp_path)
    assert result.exit_code == 0, result.output
    assert "Table 4: digits" in result.output
    assert "pip install unaligned[report]" in " ".join(result.output.split())
    assert not (tmp_path / "page.html").exists()


def test_scaling_needs_no_data_of_others(tmp_path, monkeypatch):
    monkeypatch.setattr(protocol, "load", no_file)
    options = ["--quick", "--methods", "FPMVSCAG", "--jobs", 1, "--no-page"]
    result = run("scaling", *options, "--output", tmp_path)
    assert result.exit_code == 0, result.output
    assert len(Results(tmp_path / "cells.jsonl")) == 3


def test_the_page_of_nothing_is_refused(tmp_path):
    result = run("page", "--output", tmp_path)
    assert result.exit_code == 1
    assert f"There is no {os.path.join(tmp_path, 'cells.jsonl')}" in " ".join(
        result.output.split("\n")
    )
