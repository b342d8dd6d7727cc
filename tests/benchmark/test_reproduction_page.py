"""The documentation tells what the committed results say."""

import pytest

from benchmarks.pages.reproduction import IMAGES, RESULTS, pictures
from unaligned.benchmark.cells import Results
from unaligned.benchmark.tables import table4


def test_the_pictures_are_those_of_the_results():
    there = {path.stem for path in IMAGES.glob("*.svg")}
    assert there == {picture.name for picture in pictures()}


@pytest.mark.parametrize("rule", ["released", "oracle"])
@pytest.mark.parametrize("dataset", ["ProteinFold", "Wiki"])
def test_pavuc_is_within_two_points_of_the_paper(dataset, rule):
    tables = {table.title: table for table in table4(Results(RESULTS))}
    table = tables[f"Table 4: {dataset}"]
    names = [column.name for column in table.columns]
    (row,) = [row for row in table.rows if row[:2] == ["PAVuC", rule]]
    found = dict(zip(names, row, strict=True))
    assert found["shuffles"] == "10"
    for score in ("ACC", "NMI", "F"):
        assert abs(found[f"Δ {score}"]) < 2
