"""``unaligned audit``, as people call it."""

import json

import pytest
from sklearn.datasets import load_breast_cancer

from tests.cli.file_views import run

QUICK = ("--effort", "quick")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("audit")
    table = load_breast_cancer(as_frame=True).data
    table.insert(0, "patient", [f"p{row}" for row in range(len(table))])
    known = table.filter(regex="worst|patient")
    released = table.filter(regex="mean|patient").sample(frac=1, random_state=0)
    known.to_csv(folder / "known.csv", index=False)
    released.to_csv(folder / "keyed.csv", index=False)
    released.drop(columns="patient").to_csv(folder / "released.csv", index=False)
    return folder


def test_rows_are_counted_by_a_key(files):
    both = files / "known.csv", files / "keyed.csv"
    result = run("audit", *both, *QUICK, "--key", "patient")
    assert result.exit_code == 0, result.output
    assert "Warning: this table is not anonymous" in result.stdout
    assert "mean texture" in result.stdout
    assert "(all columns)" in result.stdout


def test_or_estimated(files):
    asked = files / "known.csv", files / "released.csv"
    result = run("audit", *asked, *QUICK, "--json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told["truth"] == "unknown"
    assert 0.5 < told["share"] < 0.75
    assert told["columns"][0]["name"] == "mean texture"
    fewer = run("audit", *asked, *QUICK, "--json", "--exclude", "mean texture")
    assert len(json.loads(fewer.stdout)["columns"]) == len(told["columns"]) - 1


def test_complaints(files):
    both = files / "known.csv", files / "keyed.csv"
    result = run("audit", *both, "--key", "patient", "--same-order")
    assert result.exit_code == 1
    assert "not both" in result.stderr
    result = run("audit", *both, "--key", "nobody")
    assert result.exit_code == 1
    assert "nobody" in result.stderr


def test_complaints_name_the_file_and_options_that_there_are(files, tmp_path):
    path = tmp_path / "infinite.csv"
    path.write_text("a,b,c,d\n" + "1,2,3,inf\n" * 30)
    result = run("audit", files / "known.csv", path)
    assert result.exit_code == 1
    assert f"{path}: " in result.stderr
    assert "infinite" in result.stderr
    path.write_text("a,b,c,d\n" + "1,2,3,\n" * 30)
    result = run("audit", files / "known.csv", path, "--keep", "nothing")
    assert result.exit_code == 1
    assert "No file has the column 'nothing' that --keep asks for" in result.stderr
