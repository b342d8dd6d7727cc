"""``unaligned translate``, as people call it."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from tests.cli.file_views import noise, read_csv, run, summary_of
from tests.spaces.test_translator import make_spaces

QUICK = ("--effort", "quick")


@pytest.fixture(scope="module")
def spaces(tmp_path_factory):
    """Two spaces of 300 rows, 250 in both, and queries; one is a .npy, two Parquet."""
    folder = tmp_path_factory.mktemp("spaces")
    one, other = make_spaces(350)
    order = 50 + np.random.RandomState(1).permutation(300)
    np.save(folder / "one.npy", one[:300])
    words = [f"w{row}" for row in order]
    pd.DataFrame({"id": words, "v": [*other[order]]}).to_parquet(folder / "two.parquet")
    asked = pd.DataFrame(one[300:]).add_prefix("c").assign(id=range(300, 350))
    asked.astype({"id": str}).to_parquet(folder / "new.parquet")
    return folder


def test_vectors_are_looked_up(spaces, tmp_path):
    files = spaces / "one.npy", spaces / "two.parquet", "--new", spaces / "new.parquet"
    out = tmp_path / "out"
    result = run("translate", *files, *QUICK, "-n", 2, "--vectors", "-o", out)
    assert result.exit_code == 0, result.output
    lines = read_csv(out / "neighbours.csv")
    assert len(lines) == 100
    first = [line for line in lines if line["rank"] == "1"]
    right = [line["id"] == f"w{line['vector_id']}" for line in first]
    assert np.mean(right) > 0.7
    assert np.load(out / "translated.npy").shape == (50, 20)
    summary = summary_of(out)
    assert summary["verdict"] == "objects"
    expected = np.mean([float(line["confidence"]) for line in first])
    assert summary["expected_right"] == pytest.approx(expected, abs=1e-4)
    assert "50 vectors were looked up in two" in result.stdout
    untypical = sum(float(line["typical"]) < 0.05 for line in first)
    assert summary["untypical"] == untypical
    assert (f"{untypical} vectors are unlike" in result.stdout) == (untypical > 0)


def test_spaces_that_are_refused_give_no_neighbours(tmp_path):
    files = [noise(tmp_path / f"{n}.npy", 300, i) for i, n in enumerate("ab")]
    out = tmp_path / "out"
    result = run("translate", *files, *QUICK, "--json", "-o", out)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout) == summary_of(out)
    assert summary_of(out)["verdict"] == "none"
    assert [path.name for path in out.iterdir()] == ["summary.json"]
    result = run("translate", *files, *QUICK, "--force", "-o", out)
    assert "could not be aligned" in result.stdout


@pytest.mark.parametrize(
    ("queries", "complaint"),
    [
        (np.ones((3, 4)), "has vectors of 4 numbers, and"),
        (np.ones((0, 40)), "new.npy has no rows"),
        (np.full((3, 40), np.nan), "new.npy contains NaN or infinity: 120 NaN"),
        (np.full((3, 40), 1e300), "new.npy holds values as large as 1e+300"),
        (np.ones((3, 40), complex), "new.npy is complex"),
        (np.ones((3, 40, 2)), "it holds float64 of shape (3, 40, 2)"),
        (np.full((3, 40), "x"), "it holds <U1 of shape (3, 40)"),
    ],
)
def test_vectors_that_cannot_be_looked_up_are_told_before_the_search(
    queries, complaint, tmp_path, monkeypatch
):
    monkeypatch.setattr("unaligned.spaces.SpaceTranslator.fit", None)
    files = [noise(tmp_path / f"{n}.npy", 60, i) for i, n in enumerate("ab")]
    np.save(tmp_path / "new.npy", queries)
    out = tmp_path / "out"
    result = run("translate", *files, "--new", tmp_path / "new.npy", "-o", out)
    assert result.exit_code == 1, result.output
    assert complaint in result.stderr
    assert not out.exists()


def test_files_that_cannot_be_aligned_are_named(tmp_path):
    good = noise(tmp_path / "a.npy", 60, 0)
    np.save(tmp_path / "b.npy", np.full((60, 6), np.inf))
    result = run("translate", good, tmp_path / "b.npy", "-o", tmp_path / "out")
    assert result.exit_code == 1
    assert "view 'b' contains NaN or infinity" in result.stderr
    sparse.save_npz(tmp_path / "s.npz", sparse.eye_array(60, format="csr"))
    result = run("translate", good, tmp_path / "s.npz", "-o", tmp_path / "out")
    assert result.exit_code == 1
    assert "s.npz holds a sparse matrix. Reduce it" in result.stderr


def test_ids_that_match_nothing_are_no_silent_wish(tmp_path):
    files = [noise(tmp_path / f"{n}.npy", 60, i) for i, n in enumerate("ab")]
    result = run("translate", *files, "--match-ids", "-o", tmp_path / "out")
    assert result.exit_code == 1
    assert "--match-ids finds no id" in result.stderr


def test_columns_of_new_vectors_are_found_by_name(spaces, tmp_path):
    one, other = np.load(spaces / "one.npy"), spaces / "two.parquet"
    frame = pd.DataFrame(one).add_prefix("c")
    # Known pairs spare the search.
    known = frame.assign(id=[f"w{row}" for row in range(len(one))])
    known.to_csv(tmp_path / "one.csv", index=False)
    frame[:20].to_csv(tmp_path / "same.csv", index=False)
    frame[:20].iloc[:, ::-1].to_csv(tmp_path / "turned.csv", index=False)
    found = []
    for new in ("same.csv", "turned.csv"):
        files = tmp_path / "one.csv", other, "--new", tmp_path / new
        out = tmp_path / f"out of {new}"
        result = run("translate", *files, *QUICK, "--match-ids", "-o", out)
        assert result.exit_code == 0, result.output
        found.append(read_csv(out / "neighbours.csv"))
    assert found[0] == found[1]
    frame[:20].add_prefix("x").to_csv(tmp_path / "other.csv", index=False)
    files = tmp_path / "one.csv", other, "--new", tmp_path / "other.csv"
    result = run("translate", *files, *QUICK, "-o", tmp_path / "none")
    assert result.exit_code == 1
    assert "other.csv has no column 'c0', which" in result.stderr
