"""``unaligned compare``, as people call it."""

import json

import numpy as np
import pandas as pd
import pytest

from tests.cli.file_views import noise, run, shuffled_digits, summary_of

FEW = ("--methods", "savuc,rosetta", "-k", 10, "--effort", "quick")


@pytest.fixture
def digits(tmp_path):
    Xs, _, _ = shuffled_digits(200)
    for name, X in zip("ab", Xs, strict=True):
        np.save(tmp_path / f"{name}.npy", X)
    return tmp_path / "a.npy", tmp_path / "b.npy"


def test_methods_stand_side_by_side(digits, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "140")
    out = tmp_path / "out"
    result = run("compare", *digits, *FEW, "-o", out)
    assert result.exit_code == 0, result.output
    summary = summary_of(out)
    ours, rosetta, floor = summary["methods"]
    assert [ours["method"], rosetta["method"]] == ["SAVuC", "Rosetta"]
    assert ours["verdict"] == "objects"
    assert ours["trust"] > 0.5
    assert (rosetta["verdict"], rosetta["trust"]) == ("untested", None)
    assert floor["method"] == "random matches"
    assert ours["evidence"] > floor["evidence"] + 0.1
    for text in (result.stdout, (out / "comparison.html").read_text(encoding="utf-8")):
        for name in ("SAVuC", "Rosetta", "random matches", "untested"):
            assert name in text
    assert summary["files"] == ["comparison.html", "summary.json"]


def test_the_summary_can_be_printed_and_the_page_left_out(digits, tmp_path):
    out = tmp_path / "out"
    few = ("--methods", "Rosetta", "-k", 3, "--no-report", "--json")
    result = run("compare", *digits, *few, "-o", out)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout) == summary_of(out)
    assert [path.name for path in out.iterdir()] == ["summary.json"]


def test_what_cannot_be_compared_is_told(digits, tmp_path):
    out = ("-o", tmp_path / "out")
    result = run("compare", digits[0], *FEW, *out)
    assert result.exit_code == 1
    assert "two views, and there are 1" in result.stderr
    result = run("compare", *digits, "--methods", "kmeans", *out)
    assert result.exit_code == 2
    assert "'kmeans' is no method" in result.stderr
    result = run("compare", *digits, "--methods", "PAVuC", "-k", 3, *out)
    assert result.exit_code == 1
    assert "PAVuC cannot run here: it needs equally many rows." in result.stderr

    result = run("compare", *digits, "-k", 201, *out)
    assert result.exit_code == 1
    assert "-k 201 is more than the n_samples=180 rows of view 'b'" in result.stderr
    result = run("compare", *digits, "--time-limit", "nan", *out)
    assert result.exit_code == 2
    assert "'nan' is no number" in result.stderr


def test_methods_get_the_views_as_prepared(tmp_path):
    """With missing values filled in and text as columns of 0 and 1."""
    rng = np.random.RandomState(0)
    for name in "ab":
        frame = pd.DataFrame(rng.normal(size=(60, 5))).add_prefix("c")
        frame = frame.assign(colour=rng.choice(["red", "green"], size=60))
        frame.iloc[3, 2] = np.nan
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    files, out = (tmp_path / "a.csv", tmp_path / "b.csv"), tmp_path / "out"
    few = ("--methods", "Rosetta", "-k", 3, "--no-report")
    result = run("compare", *files, *few, "-o", out)
    assert result.exit_code == 0, result.output
    assert summary_of(out)["methods"][0]["status"] == "done"


def test_one_that_takes_too_long_is_a_line(tmp_path):
    files = [noise(tmp_path / f"{n}.npy", 700, i) for i, n in enumerate("ab")]
    few = ("--methods", "SCOT", "-k", 3, "--time-limit", 0.5, "--no-report")
    result = run("compare", *files, *few, "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert summary_of(tmp_path / "out")["methods"][0]["status"] == "time-out"
