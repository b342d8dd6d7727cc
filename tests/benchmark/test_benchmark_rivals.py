"""Tables of rivals from results that were never run."""

from made_up_results import add_rivals

from unaligned.benchmark.cells import Results
from unaligned.benchmark.columns import show
from unaligned.benchmark.overview import not_run, overview_table
from unaligned.benchmark.rivals import halves_tables, mean_ranks, rivals_tables


def lines(table):
    return [
        {c.name: show(c, v) for c, v in zip(table.columns, row, strict=True)}
        for row in table.rows
    ]


def made_up():
    results = Results()
    add_rivals(results)
    return results


def test_nothing_run_makes_no_table():
    assert halves_tables(Results()) == rivals_tables(Results()) == []


def test_halves_show_ranks_verdicts_and_failures():
    (table,) = halves_tables(made_up())
    ours, scot, rosetta = lines(table)
    assert ours["data"] == "Wiki, views 1 and 2"
    assert ours["verdict"] == "none 2; trust 0.10"
    assert ours["FOSCTTM, %"] == "–"
    assert scot["runs"] == "0 (time-out)"
    assert rosetta["method"] == "Rosetta (reconstruction)"
    assert rosetta["top-1, %"] == "40.0 ± 14.1"
    assert rosetta["FOSCTTM, %"] == "10.0 ± 0.0"
    assert rosetta["verdict"] == "untested 2"


def test_rivals_are_ranked_by_joint_accuracy():
    none_known, half_known, ranks = rivals_tables(made_up())
    assert [line["joint ACC"] for line in lines(none_known)] == [
        "70.0 ± 0.0",
        "40.0 ± 0.0",
    ]
    assert [line["method"] for line in lines(half_known)] == ["SAVuC"]
    assert lines(ranks) == [
        {
            "method": "SAVuC",
            "0 % known": "1.00",
            "10 % known": "–",
            "50 % known": "1.00",
        },
        {
            "method": "Rosetta (reconstruction)",
            "0 % known": "2.00",
            "10 % known": "–",
            "50 % known": "–",
        },
    ]


def test_the_overview_has_a_line_for_each_method_that_was_run():
    results = made_up()
    ours, scot, rosetta = lines(overview_table(results))
    assert ours["joint ACC, 0 %"] == "70.0 (30.0), objects"
    assert ours["joint ACC, 10 %"] == ours["FOSCTTM, 10 %"] == "not run"
    assert ours["FOSCTTM, 0 %"] == "–"
    assert ours["disjoint halves"] == "none"
    assert scot["disjoint halves"] == "time-out"
    assert scot["CPU s"] == "–"
    assert rosetta["joint ACC, 0 %"] == "40.0 (30.0)"
    assert rosetta["FOSCTTM, 0 %"] == "10.0"
    assert rosetta["disjoint halves"] == "10.0 (40.0)"
    missing = list(not_run(results))
    assert "- PAVuC: Wiki, views 1 and 2" in missing
    assert not any("Rosetta" in line for line in missing)
    assert overview_table(Results()).rows == []


def test_what_did_not_end_ranks_last():
    lost = float("-inf")
    assert mean_ranks([{"a": 1.0, "b": lost, "c": lost}]) == {
        "a": 1,
        "b": 2.5,
        "c": 2.5,
    }
