"""Result files of the benchmark with anything in them."""

import copy
import json
import os
import random
import shutil

import pytest

from tests.benchmark.made_up_results import paper_like
from tests.cli.file_views import run
from tests.datasets.test_hostile_files import damage
from unaligned.benchmark.cells import Cell, Results

CASES = int(os.environ.get("UNALIGNED_FUZZ_CASES", "700"))

VALUES = [
    None, True, 0, -1, 2**70, 0.5, "", "x", "<script>alert(1)", [], [1], ["x"], [[]],
    {}, {"is": 1}, {"x": [1]}, float("nan"), float("inf"),
]  # fmt: skip


@pytest.fixture(scope="module")
def lines():
    """Results as they are written."""
    records = [record for _, record in paper_like()]
    machine = {"environment": "e1", "is": {"python": "3.11"}}
    return [json.dumps(record) for record in (machine, *records)]


def changed(line, chance):
    """The same record with an entry changed, taken away or added."""
    record = json.loads(line)
    key = chance.choice([*record, "is", "views", "environment"])
    if chance.random() < 0.2:
        record.pop(key, None)
    else:
        record[key] = copy.deepcopy(chance.choice(VALUES))
    return json.dumps(record)


def test_whatever_a_line_holds_the_others_are_read(lines, tmp_path):
    good = Cell("Wiki", "PAVuC", shuffle=99)
    line = json.dumps(good.record() | {"status": "done", "acc": 1.0})
    nest = "[" * 10**5
    path = tmp_path / "cells.jsonl"
    for seed in range(CASES):
        chance = random.Random(seed)
        some = chance.sample(lines, 3)
        bad = [changed(one, chance).encode() for one in some[:2]]
        bad += [damage(some[2].encode(), seed).replace(b"\n", b" ")]
        bad += [nest.encode()] if seed % 50 == 0 else []
        path.write_bytes(b"\n".join([*bad, line.encode()]) + b"\n")
        results = Results(path)
        assert results.get(good)["acc"] == 1.0
        assert all(isinstance(cell.key, str) and str(cell) for cell, _ in results)
        for cell, _ in results:
            assert cell in [alike for alike, _ in results.like(cell)]


def test_a_page_is_made_or_refused_in_one_sentence(lines, tmp_path):
    codes = set()
    for seed in range(3):
        chance = random.Random(seed)
        folder = tmp_path / str(seed)
        folder.mkdir()
        text = "\n".join(
            changed(one, chance) if i == seed else one
            for i, one in enumerate(chance.sample(lines, 15))
        )
        (folder / "cells.jsonl").write_text(text)
        result = run("bench", "page", "--output", folder)
        codes.add(result.exit_code)
        if result.exit_code:
            assert result.exit_code == 1, result.output
            assert result.stderr.startswith("Error: ")
            assert "cannot be shown" in result.stderr
        else:
            assert "<script>alert" not in (folder / "page.html").read_text()
        shutil.rmtree(folder)
    assert 0 in codes
