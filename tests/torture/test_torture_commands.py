"""``unaligned cluster`` and ``align`` on whatever people type and files hold.

Every run is done, or refused with one sentence and a code; nothing is left anywhere but
in the output folder. ``UNALIGNED_FUZZ_CASES`` sets the number of runs.
"""

import csv
import io
import json
import os
import random

import numpy as np
import pytest

from tests.cli.file_views import run

CASES = int(os.environ.get("UNALIGNED_FUZZ_CASES", "700")) // 2

# Cells that no table should hold, or that no program should obey.
CELLS = [
    "", " ", "NA", "nan", "inf", "-inf", "1e309", "-1e308", "1e-320", "0", "-0.0",
    "1,5", "0x10", "1_000", "٣", "٣٫٥", "true", "=1+1", "=cmd|' /C calc'!A1", "+1+1",
    "-1-1", "@SUM(A1)", "\t=1", "\r=1", '"', "'", ",", "a\nb", "\x1b[2J", "\ufeff",
    "\u202e", "😀", "../../x", "C:\\x", "{{7*7}}", "<script>alert(1)</script>",
    "%s%s%n", "a" * 5000, "1" * 400, "2020-01-01", "None", "__class__",
]  # fmt: skip
NAMES = ["id", "x", "x", "", "row", "cluster", "label", "a b", "=x", "y", "\x07", "é"]
STEMS = [
    "a",
    "b",
    "view 0",
    "=1+1",
    "é",
    "..a",
    "-k",
    "a;b",
    "0",
    "labels_a",
    "\x1b[1m",
]
OPTIONS = [
    [],
    ["--match-ids"],
    ["--id-column", "id"],
    ["--id-column", "none"],
    ["--id-column", "99999999999999999999"],
    ["--label-column", "label"],
    ["--label-column", "=x"],
    ["--exclude", "x"],
    ["--encoding", "utf-16"],
    ["--encoding", "rot13"],
    ["--encoding", "\0"],
    ["--delimiter", ";"],
    ["--delimiter", "\n"],
    ["--delimiter", "é"],
    ["--seed", "4294967295"],
    ["--seed", "-1"],
    ["--json"],
    ["--quiet"],
    ["--no-centre"],
    ["--centre"],
    ["--effort", "quick"],
    ["--bogus"],
]
COUNTS = ["1", "2", "3", "3", "3", "12", "24", "25", "0", "-1", "99999999999", "٣", "x"]


def numbers(chance, n, wild):
    """A table of numbers; wild ones are of unlikely sizes, or all the same."""
    rng = np.random.RandomState(chance.randrange(2**31))
    X = rng.normal(size=(n, chance.choice([1, 2, 5])))
    if not wild:
        return X
    X *= chance.choice([1, 1e-300, 1e20, 1e150, 1e300, 0])
    X += chance.choice([0, 0, 7, 1e9])
    if chance.random() < 0.2:
        X[:, 0] = X[0, 0]
    if chance.random() < 0.2:
        X[:] = X[:1]
    return X


def table(chance, n, wild):
    """Text of a table, with ids and other columns; a wild one has cells of any kind."""
    rows = numbers(chance, n, wild).tolist()
    with_ids = chance.random() < 0.6
    if with_ids:
        names = [f"r{i}" for i in range(n)]
        for cell in chance.sample(CELLS, chance.choice([0, 1, 3])):
            names[chance.randrange(n)] = cell
        rows = [[name, *row] for name, row in zip(names, rows, strict=True)]
    if chance.random() < 0.3:
        words = ["u", "v", chance.choice(CELLS)]
        rows = [[*row, chance.choice(words)] for row in rows]
    head = ["id"] if with_ids and chance.random() < 0.7 else []
    head += [chance.choice(NAMES) for _ in range(len(rows[0]) - len(head))]
    for _ in range(chance.choice([0, 1, 4]) if wild else 0):
        row = chance.choice(rows)
        row[chance.randrange(len(row))] = chance.choice(CELLS)
    if wild and chance.random() < 0.1:
        chance.choice(rows).append("1")
    if wild and chance.random() < 0.1:
        del chance.choice(rows)[1:]
    file = io.StringIO()
    writer = csv.writer(file, delimiter=chance.choice([",", ",", ",", ";", "\t"]))
    writer.writerows([head, *rows] if chance.random() < 0.8 else rows)
    text = file.getvalue()
    cut = wild and chance.random() < 0.1
    return text[: chance.randrange(len(text))] if cut else text


def write_view(folder, chance, n, wild):
    """A file of any kind, under any name."""
    kinds = ["csv", "csv", "csv", "npy", "npz", "txt"] + ["wrong"] * wild
    kind = chance.choice(kinds)
    path = folder / f"{chance.choice(STEMS)}{chance.randrange(99)}.{kind}"
    if kind in ("csv", "txt"):
        encoding = chance.choice(["utf-8", "utf-16", "latin-1"]) if wild else "utf-8"
        path.write_bytes(table(chance, n, wild).encode(encoding, "replace"))
    elif kind == "npy":
        kinds = ["f8", "f4", "f2", "i8"] + ["?", "c16", "U3", "M8[s]"] * wild
        with np.errstate(all="ignore"):
            array = numbers(chance, n, wild).astype(chance.choice(kinds))
        np.save(path, array.ravel() if wild and chance.random() < 0.2 else array)
    elif kind == "npz":
        views = {
            f"view{i}": numbers(chance, n, wild) for i in range(chance.choice([1, 2]))
        }
        np.savez(path, **views, y=np.arange(n))
    else:
        path = path.with_suffix(chance.choice(["", ".xlsx", ".mat", ".parquet", ".h5"]))
        path.write_bytes(chance.randbytes(chance.choice([0, 3, 300])))
    return path


def pairs_file(folder, chance, files):
    stems = [file.stem for file in files] + ["nothing"]
    lines = [[chance.choice(stems) for _ in range(2)]]
    cells = [*CELLS, "0", "1", "r1", "r2", "99", "-1"]
    lines += [[chance.choice(cells) for _ in range(2)] for _ in range(3)]
    path = folder / "pairs.txt"
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(lines)
    return path


def everything_in(folder):
    return {path: path.is_dir() or path.read_bytes() for path in folder.rglob("*")}


def check_results(out, result, command):
    """Results hold what they say, one label for every row, and no formula."""
    summary = json.loads((out / "summary.json").read_text())
    assert set(summary["files"]) == {path.name for path in out.iterdir()}
    for view in summary["views"] if command == "cluster" else ():
        with open(out / view["labels"], newline="", encoding="utf-8") as file:
            lines = list(csv.DictReader(file))
        assert len(lines) == view["rows"]
        assert [int(line["row"]) for line in lines] == list(range(view["rows"]))
    for path in out.glob("*.csv"):
        with open(path, newline="", encoding="utf-8") as file:
            cells = [cell for line in csv.reader(file) for cell in line]
        assert not any(cell.startswith(("=", "+", "-", "@", "\t")) for cell in cells)
    assert "\x1b" not in result.output


def check_refusal(result):
    """A refusal is one sentence on stderr and nothing on stdout."""
    assert result.exit_code in (1, 2), (result.exit_code, result.output)
    assert result.stdout == ""
    complaint = result.stderr.splitlines()[-1]
    assert result.stderr.count("Error: ") == 1
    assert complaint.startswith("Error: ")
    assert complaint.endswith((".", "?", ")")), complaint
    assert complaint.isprintable()
    assert len(complaint) < 2000


def typed(chance, folder):
    """Arguments of a run; most are sensible but for their files or their options."""
    wild_files, wild_options = chance.choice([(0, 0), (0, 0), (1, 0), (0, 1), (1, 1)])
    n = chance.choice([1, 2, 3, 12, 24, 25]) if wild_files else 24
    n_files = chance.choice([0, 1, 2, 3]) if wild_options else chance.choice([1, 2, 3])
    files = [write_view(folder, chance, n, wild_files) for _ in range(n_files)]
    command = chance.choice(["cluster", "cluster", "cluster", "align"])
    arguments = [command, *files, "-o", folder / "out", "--no-report"]
    if command == "cluster":
        arguments += ["--method", chance.choice(["LMVSC", "LMVSC", "PAVuC", "VuCG"])]
        arguments += ["-k", chance.choice(COUNTS if wild_options else ["1", "3", "24"])]
    else:
        arguments += ["--effort", "quick"]
    for _ in range(chance.choice([1, 2]) if wild_options else 0):
        arguments += chance.choice(OPTIONS)
    if files and chance.random() < 0.1 + 0.2 * wild_options:
        arguments += ["--pairs", pairs_file(folder, chance, files)]
    return arguments, command


@pytest.mark.parametrize("part", range(5))
def test_every_run_is_done_or_refused_in_one_sentence(tmp_path, monkeypatch, part):
    results = {"done": 0, "refused": 0}
    monkeypatch.setenv("COLUMNS", "10000")  # or click breaks its complaints into lines
    for seed in range(part, CASES, 5):
        chance = random.Random(seed)
        folder = tmp_path / str(seed)
        folder.mkdir()
        monkeypatch.chdir(folder)
        arguments, command = typed(chance, folder)
        before = everything_in(folder)
        result = run(*arguments)
        out = folder / "out"
        after = {
            path: content
            for path, content in everything_in(folder).items()
            if path != out and out not in path.parents
        }
        assert after == before, seed
        if result.exit_code == 0:
            results["done"] += 1
            check_results(out, result, command)
        else:
            results["refused"] += 1
            assert not out.exists()
            check_refusal(result)
    assert min(results.values()) > CASES / 5 / 20
