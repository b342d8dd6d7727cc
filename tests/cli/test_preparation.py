"""What the commands make of columns; ``tests/preparation`` has the rules."""

import numpy as np
import pandas as pd
import pytest

from tests.cli.file_views import read_csv, run, summary_of
from unaligned import prepare
from unaligned.cli._options import EFFORTS, NamedFile, column_of
from unaligned.savuc.config import EFFORTS as SETTINGS

FAST = ["--method", "LMVSC", "-k", 3, "--json"]


@pytest.fixture
def frames(blobs):
    """Two tables with gaps, a category, ids of their own and a skewed amount."""
    rng = np.random.RandomState(0)
    made = {}
    for name, X in zip(("crm", "shop"), blobs[0], strict=False):
        X = X.copy()
        X[rng.uniform(size=X.shape) < 0.05] = np.nan
        frame = pd.DataFrame(X, columns=[f"{name}{j}" for j in range(X.shape[1])])
        frame["spent"] = rng.lognormal(3, 1, len(X))
        frame["city"] = rng.choice(["Oslo", "Rome"], len(X))
        frame.insert(0, f"{name} number", [f"{name}-{row}" for row in range(len(X))])
        made[name] = frame
    return made


@pytest.fixture
def files(frames, tmp_path):
    for name, frame in frames.items():
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    return [tmp_path / f"{name}.csv" for name in frames]


def test_the_command_and_python_agree(files, frames, tmp_path):
    out = tmp_path / "out"
    result = run("cluster", *files, *FAST, "-o", out)
    assert result.exit_code == 0, result.output
    page = (out / "report.html").read_text(encoding="utf-8")
    for view, frame in zip(summary_of(out)["views"], frames.values(), strict=True):
        made = prepare(frame)
        assert view["features"] == made.shape[1]
        assert view["imputed"] == made.n_imputed > 0
        assert view["preparation"] == made.summary()
        listed = {
            (column, entry["action"], entry["why"])
            for entry in view["columns"]
            for column in entry["columns"]
        }
        assert listed == {(n.column, n.action, n.why) for n in made.notes}
        assert made.remarks[0] in page
    assert 'id="columns-title"' in page
    assert "skewed, logarithm taken" in page


def test_the_terminal_says_what_became_of_columns(files, tmp_path):
    options = ["--method", "LMVSC", "-k", 3, "--categorical", "drop", "--keep", "spent"]
    result = run("cluster", *files, *options, "--no-report", "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    (told,) = (line for line in lines if line.startswith("crm: "))
    assert "left out: crm number (names the rows), city (categories)" in told
    assert "values are missing" in told
    assert "logarithm" not in told


def test_ids_of_one_file_are_named_behind_it(files, frames, tmp_path):
    numbers = np.random.RandomState(3).permutation(60) + 500
    frames["shop"].insert(3, "receipt", numbers)
    frames["shop"].to_csv(files[1], index=False)
    named = [files[0], f"{files[1]}:receipt"]
    result = run("cluster", *named, *FAST, "--no-report", "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    ids = [line["id"] for line in read_csv(tmp_path / "out" / "labels_shop.csv")]
    assert ids == [str(number) for number in numbers]
    ids = [line["id"] for line in read_csv(tmp_path / "out" / "labels_crm.csv")]
    assert ids[0] == "crm-0"


def test_a_file_whose_name_has_a_colon_is_that_file(files, tmp_path):
    odd = tmp_path / "shop.csv:receipt"
    odd.write_text("x")
    result = run("cluster", files[0], odd, *FAST, "-o", tmp_path / "out")
    assert "are not known" in result.stderr  # no reader for such an ending
    missing = run("cluster", files[0], tmp_path / "no.csv:id", *FAST, "-o", "never")
    assert missing.exit_code == 2
    assert "does not exist" in missing.stderr


def test_options_are_those_of_the_library():
    assert {*EFFORTS} == {*SETTINGS}
    assert column_of("NONE") is False
    assert NamedFile("x").id_column is None
