import json

import pytest

from unaligned.benchmark.cells import Cell, Results


def record(cell, **more):
    return cell.record() | {"status": "done", "acc": 50.0} | more


def test_what_is_written_is_read_again(tmp_path):
    path = tmp_path / "deep" / "cells.jsonl"
    cells = [
        Cell("Wiki", "PAVuC", {"alpha": 1.5}, ratio=0.3, shuffle=2),
        Cell("Wiki", "PAVuC", {"alpha": 1.5}, views=(0, 1), rows=100),
    ]
    results = Results(path)
    results.add_environment("abc", {"python": "3"})
    results.add_environment("abc", {"python": "3"})
    for cell in cells:
        results.add(record(cell, acc=42.0))
    again = Results(path)
    assert [cell for cell, _ in again] == cells
    assert again.get(cells[1])["acc"] == 42.0
    assert again.environments == {"abc": {"python": "3"}}
    assert len(path.read_text().splitlines()) == 3


def test_the_newest_record_of_a_cell_counts(tmp_path):
    results = Results(tmp_path / "cells.jsonl")
    cell = Cell("Wiki", "PAVuC")
    results.add(record(cell, status="time-out"))
    results.add(record(cell, acc=60.0))
    for found in (results, Results(results.path)):
        assert len(found) == 1
        assert found.get(cell)["acc"] == 60.0


@pytest.mark.parametrize("cut", [1, 10, 40])
def test_a_torn_line_costs_its_own_cell_only(tmp_path, cut):
    path = tmp_path / "cells.jsonl"
    results = Results(path)
    cells = [Cell("Wiki", "PAVuC", shuffle=s) for s in range(3)]
    for cell in cells[:2]:
        results.add(record(cell))
    path.write_bytes(path.read_bytes()[:-cut])
    torn = Results(path)
    kept = cells[:2] if cut == 1 else cells[:1]  # a newline alone is no loss
    assert [cell for cell, _ in torn] == kept
    torn.add(record(cells[2]))
    assert [cell for cell, _ in Results(path)] == [*kept, cells[2]]


def test_garbage_between_lines_is_passed_over(tmp_path):
    path = tmp_path / "cells.jsonl"
    good = json.dumps(record(Cell("Wiki", "PAVuC"))).encode()
    path.write_bytes(b"\xff\xfe\n" + good + b"\n[1, 2]\n\n")
    assert len(Results(path)) == 1


def test_results_in_memory_write_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Results().add(record(Cell("Wiki", "PAVuC")))
    assert not list(tmp_path.iterdir())


def test_alike_are_cells_that_differ_in_setting_and_shuffle_only():
    results = Results()
    alike = [
        Cell("Wiki", "PAVuC", {"mu": mu}, shuffle=s) for s in (1, 0) for mu in (1, 2)
    ]
    others = [
        Cell("Wiki", "PAVuC", ratio=0.1),
        Cell("Wiki", "LMVSC"),
        Cell("Wiki", "PAVuC", rows=50),
        Cell("Wiki", "PAVuC", measure="trace"),
    ]
    for cell in alike + others:
        results.add(record(cell))
    found = [cell for cell, _ in results.like(Cell("Wiki", "PAVuC"))]
    assert set(found) == set(alike)
    assert [cell.shuffle for cell in found] == [0, 0, 1, 1]
