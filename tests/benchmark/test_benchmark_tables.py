import pytest
from made_up_results import WIKI, add, paper_like

from unaligned.benchmark import published_tables
from unaligned.benchmark.cells import Results
from unaligned.benchmark.columns import Spread
from unaligned.benchmark.scaling import exponent, scaling_tables
from unaligned.benchmark.summary import Case
from unaligned.benchmark.tables import table4, table5, table6, table7


def rows_of(table):
    names = [column.name for column in table.columns]
    rows = [dict(zip(names, row, strict=True)) for row in table.rows]
    return {(row["method"], row.get("chosen by")): row for row in rows}


@pytest.fixture(scope="module")
def results():
    return paper_like()


def test_table4_has_ours_the_papers_and_the_difference(results):
    (table,) = table4(results)
    row = rows_of(table)["PAVuC", "released"]
    paper = published_tables()["table4_fully_unaligned"]["PAVuC-ATS"]["Wiki"]
    assert row["ACC"] == Spread(53.5, pytest.approx(0.5**0.5))
    assert row["ACC, paper"] == paper["ACC"]
    assert row["Δ NMI"] == pytest.approx(43.5 - paper["NMI"])
    assert (row["same class"], row["by chance"]) == (11.0, 10.0)
    assert row["shuffles"] == "2"


def test_table4_has_the_rows_that_the_paper_lacks(results):
    rows = rows_of(table4(results)[0])
    assert rows["PAVuC's template alone", "released"]["ACC"].mean == 53.0
    assert rows["SAVuC", "defaults"]["ACC"].mean == 55.5
    best, blind = rows["k-means on the best view", "oracle"], None
    assert (best["ACC"].mean, best["setting"]) == (56.0, "view=1")
    blind = rows["k-means on one view", "label-free"]
    assert (blind["ACC"].mean, blind["setting"]) == (18.0, "view=0")
    assert rows["UPMGCSM", "defaults"]["shuffles"] == "0: out of memory"
    assert rows["CMVNMF (reconstruction)", "defaults"]["same class"] is None


def test_rules_that_search_appear_only_where_a_grid_was_run(results):
    rows = rows_of(table4(results)[0])
    assert {rule for name, rule in rows if name == "PAVuC"} == {
        "released", "oracle", "label-free",
    }  # fmt: skip
    assert {rule for name, rule in rows if name == "SAVuC"} == {"defaults"}


def test_other_data_than_the_papers_get_no_difference():
    results = Results()
    add(results, Case("Caltech101-20-recon"), "LMVSC")
    (table,) = table4(results)
    (row,) = rows_of(table).values()
    assert row["ACC, paper"] == 19.35
    assert row["Δ ACC"] is None
    assert any("no difference" in note for note in table.notes)


def test_table5_is_about_two_views():
    results = Results()
    two = Case("ProteinFold", views=(8, 11))
    add(results, two, "PAVuC", two.entry.released, (33.0,))
    add(results, WIKI, "LMVSC")
    (table,) = table5(results)
    assert table.title == "Table 5: ProteinFold, views 9 and 12"
    paper = published_tables()["table5_two_views"]["PAVuC-ATS"]["ProteinFold"]["ACC"]
    assert rows_of(table)["PAVuC", "released"]["Δ ACC"] == pytest.approx(33 - paper)


def test_table6_subtracts_the_ablation(results):
    (table,) = table6(results)
    rows = rows_of(table)
    assert rows["difference", ""]["ACC"] == pytest.approx(53.5 - 23.5)
    assert rows["NPA-VuC, order of view 1", "released"]["ACC"].mean == 12.9
    assert "is that of view 1's order (12.9)" in table.notes[-1]
    assert rows["difference", ""]["ACC, paper"] == 40.51


def test_table7_has_seconds_and_memory(results):
    (table,) = table7(results)
    row = rows_of(table)["PAVuC", None]
    assert (row["seconds"], row["seconds, paper"]) == (1.5, 7.4)
    assert row["CPU seconds"] == 1.2
    assert row["peak memory of the fit, MB"] == 8.0


def test_nothing_run_makes_no_table():
    for make in (table4, table5, table6, table7, scaling_tables):
        assert make(Results()) == []


@pytest.mark.parametrize("power", [1.0, 1.4, 3.0])
def test_exponents_are_those_of_power_laws(power):
    curve = [(n, 1e-3 * (n / 100) ** power) for n in (100, 1000, 2000, 4000, 8000)]
    assert exponent(curve, 0) == pytest.approx(power, abs=1e-3)


def test_exponents_need_two_sizes_beyond_the_overheads():
    assert exponent([(100, 0.01), (200, 0.01), (400, 1.0)], smallest=0.05) is None


def test_scaling_has_exponents_and_the_speed_up(results):
    growth, speed = scaling_tables(results)
    rows = rows_of(growth)
    assert rows["UPMGCSM", None]["time grows as n to the"] == pytest.approx(3)
    assert rows["LMVSC", None]["memory grows as n to the"] == pytest.approx(1)
    assert [row[3] for row in speed.rows] == pytest.approx([0.5, 1, 2])
