"""``unaligned align``, as people call it."""

import json
import sys

import numpy as np
import pytest

from tests.cli.file_views import (
    left_behind,
    noise,
    read_csv,
    run,
    shuffled_digits,
    summary_of,
    write_csv,
)
from unaligned import Alignment, align, prepare
from unaligned.datasets import read_views

QUICK = ("--effort", "quick", "--no-report")


@pytest.fixture
def digits(tmp_path):
    Xs, _, _ = shuffled_digits()
    np.save(tmp_path / "pixels.npy", Xs[0])
    ids = [f"row {i}" for i in range(len(Xs[1]))]
    return tmp_path / "pixels.npy", write_csv(tmp_path / "profiles.csv", Xs[1], ids)


def test_matches_are_those_of_align(digits, tmp_path, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")  # as if there were a terminal
    out = tmp_path / "out"
    result = run("align", *digits, *QUICK, "--json", "-o", out)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout) == summary_of(out)
    assert "views pixels and profiles: evidence" in result.stderr
    # Python and the command agree, logarithms of skewed columns included.
    data = read_views([*digits])
    views = [prepare(data.view(i)).X for i in range(2)]
    found = align(views, effort="quick", random_state=0)
    pairs = [
        (int(line["template_row"]), int(line["row"]))
        for line in read_csv(out / "matches.csv")
    ]
    np.testing.assert_array_equal(pairs, found.pairs(0, 1))
    ids = [line["id"] for line in read_csv(out / "matches.csv")]
    assert ids == [f"row {row}" for _, row in pairs]
    assert sorted(path.name for path in out.iterdir()) == [
        "matches.csv",
        "summary.json",
        "unmatched.csv",
    ]
    alone = [int(line["row"]) for line in read_csv(out / "unmatched.csv")]
    assert alone == np.flatnonzero(found.permutations[1] < 0).tolist()
    assert summary_of(out)["views"][0]["unmatched"] == len(alone) == 20
    profiles = summary_of(out)["views"][1]
    assert profiles["trust"] == pytest.approx(found.trust[1])
    assert (profiles["standing"], profiles["verdict"]) == ("Aligned", "objects")
    assert (profiles["basis"], profiles["known"]) == ("structure", 0)
    assert "labels" not in profiles


def test_refused_views_are_told_and_have_no_matches(tmp_path):
    files = [noise(tmp_path / f"{n}.npy", 150, i) for i, n in enumerate("ab")]
    result = run("align", *files, "--effort", "quick", "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("No view could be aligned.\n")
    assert "Next step: Search longer (--effort normal).\n" in result.stdout
    assert summary_of(tmp_path / "out")["next_step"] in result.stdout
    assert read_csv(tmp_path / "out" / "matches.csv") == []
    assert "No view could be aligned" in (tmp_path / "out" / "report.html").read_text()
    views = summary_of(tmp_path / "out")["views"]
    assert views[1]["trust"] < 0.5
    assert views[1]["matches"] == 0


def test_known_pairs_are_kept(tmp_path):
    files = [noise(tmp_path / f"{n}.npy", 150, i) for i, n in enumerate("ab")]
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("a,b\n" + "\n".join(f"{row},{149 - row}" for row in range(150)))
    result = run("align", *files, *QUICK, "--pairs", pairs, "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    view = summary_of(tmp_path / "out")["views"][1]
    assert view["known_matches"] == 150
    lines = read_csv(tmp_path / "out" / "matches.csv")
    assert len(lines) == 150
    assert all(int(x["row"]) == 149 - int(x["template_row"]) for x in lines)


def test_one_view_is_nothing_to_align(tmp_path):
    file = noise(tmp_path / "a.npy", 20)
    result = run("align", file, "--quiet", "-o", tmp_path / "out")
    assert result.exit_code == 1
    assert result.stderr == (
        "Error: There is one view only, and so nothing to align; name another file.\n"
    )
    assert left_behind(tmp_path, file) == []


def test_help_lists_the_exit_codes():
    for command in ("align", "cluster"):
        told = " ".join(run(command, "--help").output.split())
        for code in ("0 done", "1 the input", "2 the command", "130 stopped"):
            assert code in told


def test_matches_of_views_that_are_aligned_apart(tmp_path):
    Xs, _, _ = shuffled_digits()
    rng = np.random.RandomState(0)
    kind = rng.choice(5, 300, p=[0.4, 0.25, 0.2, 0.1, 0.05])
    latent = 2 * rng.normal(size=(5, 10))[kind] + rng.gamma(0.5, size=(300, 10))
    for name, X in zip("ac", Xs, strict=False):
        np.save(tmp_path / f"{name}.npy", X)
    for name, d in (("b", 12), ("d", 15)):
        np.save(tmp_path / f"{name}.npy", latent @ rng.normal(size=(10, d)))
    files = [tmp_path / f"{name}.npy" for name in "abcd"]
    result = run("align", *files, *QUICK, "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert "aligned views “b” and “d” with each other, apart from" in result.output
    lines = read_csv(tmp_path / "out" / "matches.csv")
    assert {(line["template_view"], line["view"]) for line in lines} == {
        ("a", "c"),
        ("b", "d"),
    }
    apart = [line for line in lines if line["view"] == "d"]
    assert np.mean([line["row"] == line["template_row"] for line in apart]) > 0.9
    views = summary_of(tmp_path / "out")["views"]
    told = {view["name"]: view["standing"] for view in views}
    assert told["b"] == told["d"] == "Aligned apart"


def test_a_view_with_some_evidence_is_promising_and_has_a_next_step(
    tmp_path, monkeypatch
):
    def hesitate(Xs, **_):
        rows = [np.arange(150), np.full(150, -1), np.full(150, -1)]
        sure = [np.ones(150), np.zeros(150), np.zeros(150)]
        return Alignment(0, rows, sure, np.array([1, 0.2, 0.001]), ["a", "b", "c"])

    monkeypatch.setattr(sys.modules["unaligned.savuc"], "align", hesitate)
    files = [noise(tmp_path / f"{n}.npy", 150, i) for i, n in enumerate("abc")]
    result = run("align", *files, *QUICK, "-o", tmp_path / "out")
    assert result.stdout.startswith("Promising, not confirmed.")
    assert "Next step: Search longer (--effort normal)" in result.stdout
    summary = summary_of(tmp_path / "out")
    assert [view["promising"] for view in summary["views"]] == [False, True, False]


def test_known_pairs_that_the_data_contradict_are_written(tmp_path, monkeypatch):
    def doubt(Xs, aligned, **_):
        rows, sure = [np.arange(150)] * 2, [np.ones(150)] * 2
        return Alignment(
            0,
            rows,
            sure,
            np.array([1, 0.9]),
            ["a", "b"],
            known=np.array([1, 0.1]),
            suspects={(0, 1): np.array([[3, 4], [7, 9]])},
        )

    monkeypatch.setattr(sys.modules["unaligned.savuc"], "align", doubt)
    files = [noise(tmp_path / f"{n}.npy", 150, i) for i, n in enumerate("ab")]
    out = tmp_path / "out"
    result = run("align", *files, *QUICK, "-o", out)
    assert result.exit_code == 0, result.output
    assert "Check 2 known pairs that the data contradict." in result.stdout
    assert "suspects.csv" in result.stdout
    assert summary_of(out)["suspects"] == 2
    assert read_csv(out / "suspects.csv") == [
        {"view": "a", "row": "3", "id": "3"}
        | {"other_view": "b", "other_row": "4", "other_id": "4"},
        {"view": "a", "row": "7", "id": "7"}
        | {"other_view": "b", "other_row": "9", "other_id": "9"},
    ]
