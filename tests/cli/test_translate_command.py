"""``unaligned translate``, as people call it."""

import json

import numpy as np
import pandas as pd
import pytest

from tests.cli.file_views import noise, read_csv, run, summary_of
from tests.spaces.test_translator import make_spaces

QUICK = ("--effort", "quick")


@pytest.fixture(scope="module")
def spaces(tmp_path_factory):
    """Two spaces of 400 rows, 350 in both, and queries; one is a .npy, two Parquet."""
    folder = tmp_path_factory.mktemp("spaces")
    one, other = make_spaces(450)
    order = 50 + np.random.RandomState(1).permutation(400)
    np.save(folder / "one.npy", one[:400])
    words = [f"w{row}" for row in order]
    pd.DataFrame({"id": words, "v": [*other[order]]}).to_parquet(folder / "two.parquet")
    asked = pd.DataFrame(one[400:]).add_prefix("c").assign(id=range(400, 450))
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
