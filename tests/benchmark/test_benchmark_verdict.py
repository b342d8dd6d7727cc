import pytest
from made_up_results import RELEASED, WIKI, add, add_failure, paper_like

from unaligned.benchmark import published_tables
from unaligned.benchmark.cells import Results
from unaligned.benchmark.summary import Case
from unaligned.benchmark.verdict import verdict_tables

PAPER = published_tables()["table4_fully_unaligned"]


def rows_of(table):
    names = [column.name for column in table.columns]
    return [dict(zip(names, row, strict=True)) for row in table.rows]


def reproduced(results):
    """How many scores are near, of how many, and which are not."""
    found = [t for t in verdict_tables(results) if t.name == "reproduced"]
    (row,) = rows_of(found[0]) if found else [None]
    return row and (
        row["within 2 points"],
        row["of"],
        row["not reproduced (ours − the paper's)"],
    )


def scores(method, **shift):
    """The published scores on Wiki, shifted."""
    paper = PAPER[method]["Wiki"]
    return {name: paper[name.upper()] + shift.get(name, 0) for name in ("nmi", "f")}


def test_scores_within_two_points_are_reproduced_and_others_are_named():
    results = Results()
    acc = PAPER["LMVSC"]["Wiki"]["ACC"]
    add(results, WIKI, "LMVSC", {}, (acc - 1.9,), **scores("LMVSC", nmi=1.5, f=-2.3))
    assert reproduced(results) == (2, 3, "LMVSC F −2.3")


def test_the_papers_own_rule_decides_where_a_grid_was_searched():
    results, acc = Results(), PAPER["LMVSC"]["Wiki"]["ACC"]
    for alpha, shift, judged in [(0.1, 0.0, 0.1), (1.0, -9.0, 0.9)]:
        add(
            results, WIKI, "LMVSC", {"alpha": alpha}, (acc + shift,),
            label_free=judged, **scores("LMVSC"),
        )  # fmt: skip
    assert reproduced(results) == (3, 3, "none")


def test_what_did_not_come_to_an_end_is_not_reproduced():
    results = Results()
    add_failure(results, WIKI, "VuCG", {"lam": 1.0, "tau": 1.2})
    near, of, others = reproduced(results)
    assert (near, of) == (0, 3)
    assert others.startswith("VuCG ACC (no result)")


@pytest.mark.parametrize("case", [Case("Caltech101-20-recon"), Case("Wiki", 300)])
def test_other_data_reproduce_nothing(case):
    results = Results()
    add(results, case, "LMVSC")
    assert reproduced(results) is None


def test_an_f_of_another_kind_is_not_compared():
    results = Results()
    two = Case("ProteinFold", views=(8, 11))
    add(results, two, "PVC", {"lam": 1.0}, (26.0,), ratio=0.01, nmi=36.0)
    assert reproduced(results) == (2, 2, "none")


def test_datasets_that_were_not_run_are_named():
    (table, _) = verdict_tables(paper_like())
    assert "The paper's ProteinFold, Caltech101-20, " in table.notes[-1]
    assert "Wiki" not in table.notes[-1]


def test_scores_stand_beside_what_they_are_made_of():
    made_of = verdict_tables(paper_like())[-1]
    (row,) = rows_of(made_of)
    assert row == {
        "dataset": "Wiki",
        "PAVuC": 53.5,
        "PAVuC, paper": 53.41,
        "its template alone": 53.0,
        "k-means, best view (oracle)": 56.0,
        "k-means, one view (label-free)": 18.0,
        "SAVuC": 55.5,
        "same class, PAVuC": 11.0,
        "same class, SAVuC": 11.0,
        "by chance": 10.0,
    }


def test_the_ablation_is_compared_in_both_row_orders():
    results = Results()
    first = {"first_view": {"acc": 12.9, "nmi": 0.75, "f": 10.61}}
    setting = {name: value for name, value in RELEASED.items() if name != "mu"}
    add(results, WIKI, "NPA-VuC", setting, (53.2,), nmi=51.1, f=46.8, **first)
    near, of, others = reproduced(results)
    assert (near, of) == (3, 6)
    assert others == "NPA-VuC ACC +40.3, NPA-VuC NMI +50.4, NPA-VuC F +36.2"


def test_nothing_run_says_nothing():
    assert verdict_tables(Results()) == []
