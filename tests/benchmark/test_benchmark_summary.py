import statistics

import pytest
from made_up_results import RELEASED, WIKI, add, add_failure

from unaligned.benchmark.cells import Results
from unaligned.benchmark.summary import (
    Case,
    cases_of,
    choose,
    nominate,
    released_setting,
    summarise,
)


@pytest.fixture
def searched():
    """LMVSC: 0.1 has the best ACC, 10 the best score without labels."""
    results = Results()
    for alpha, acc, judged in [(1e-3, 20.0, 0.2), (0.1, 30.0, 0.4), (10.0, 25.0, 0.8)]:
        add(results, WIKI, "LMVSC", {"alpha": alpha}, (acc,), label_free=judged)
    return results


def test_rules_choose_by_what_they_say(searched):
    assert choose(searched, WIKI, "LMVSC", "oracle") == {"alpha": 0.1}
    assert choose(searched, WIKI, "LMVSC", "label-free") == {"alpha": 10.0}


def test_labels_have_no_say_in_the_label_free_rule(searched):
    blind = Results()
    for cell, record in searched:
        blind.add(cell.record() | record | {"acc": 100 - record["acc"]})
    assert choose(blind, WIKI, "LMVSC", "oracle") == {"alpha": 1e-3}
    assert choose(blind, WIKI, "LMVSC", "label-free") == {"alpha": 10.0}


def test_only_shuffles_that_all_grid_points_have_are_looked_at(searched):
    # Further shuffles of one setting, however good, do not make it the choice.
    add(searched, WIKI, "LMVSC", {"alpha": 1e-3}, (20.0, 99.0, 99.0), label_free=0.2)
    assert choose(searched, WIKI, "LMVSC", "oracle") == {"alpha": 0.1}


def test_the_oracle_looks_at_all_shuffles_of_what_went_on(searched):
    add(searched, WIKI, "LMVSC", {"alpha": 0.1}, (30.0, 10.0, 10.0), label_free=0.4)
    add(searched, WIKI, "LMVSC", {"alpha": 10.0}, (25.0, 25.0, 25.0), label_free=0.8)
    assert nominate(searched, WIKI, "LMVSC", "oracle") == {"alpha": 0.1}
    assert choose(searched, WIKI, "LMVSC", "oracle") == {"alpha": 10.0}


def test_the_released_setting_competes_under_the_oracle_only():
    results = Results()
    add(results, WIKI, "PAVuC", RELEASED, (50.0, 50.0), label_free=0.9)
    lucky = RELEASED | {"mu": 1.0}
    add(results, WIKI, "PAVuC", lucky, (60.0, 20.0), label_free=0.1)
    blind = RELEASED | {"mu": 10.0}
    add(results, WIKI, "PAVuC", blind, (40.0,), label_free=0.95)
    assert nominate(results, WIKI, "PAVuC", "oracle") == lucky
    assert choose(results, WIKI, "PAVuC", "label-free") == blind
    add(results, WIKI, "PAVuC", blind, (40.0, 40.0), label_free=0.95)
    assert choose(results, WIKI, "PAVuC", "oracle") == RELEASED
    assert choose(results, WIKI, "PAVuC", "label-free") == blind


def test_settings_outside_the_grid_and_failures_are_never_chosen(searched):
    add(searched, WIKI, "LMVSC", {"alpha": 777.0}, (99.0,), label_free=0.99)
    add_failure(searched, WIKI, "LMVSC", {"alpha": 1.0})
    assert choose(searched, WIKI, "LMVSC", "oracle") == {"alpha": 0.1}
    assert choose(searched, WIKI, "LMVSC", "label-free") == {"alpha": 10.0}


def test_nothing_is_chosen_from_nothing():
    for rule in ("oracle", "label-free", "defaults"):
        assert choose(Results(), WIKI, "LMVSC", rule) is None
    results = Results()
    add_failure(results, WIKI, "LMVSC", {"alpha": 1.0})
    assert choose(results, WIKI, "LMVSC", "oracle") is None


def test_released_settings_are_those_of_the_authors_program():
    assert choose(Results(), WIKI, "PAVuC", "released") == RELEASED
    caltech = Case("Caltech101-20-recon").entry
    assert released_setting("PAVuC", caltech)["anchors_per_cluster"] == 3
    assert "mu" not in released_setting("NPA-VuC", caltech)
    assert released_setting("LMVSC", caltech) is None


def test_summaries_are_over_the_shuffles_that_ended():
    results = Results()
    add(results, WIKI, "LMVSC", {"alpha": 1.0}, (10.0, 20.0, 40.0))
    add_failure(results, WIKI, "LMVSC", {"alpha": 1.0}, shuffle=3)
    found = summarise(results, WIKI, "LMVSC", {"alpha": 1.0})
    assert found.mean("acc") == statistics.fmean([10, 20, 40])
    assert found.spread("acc") == statistics.stdev([10, 20, 40])
    assert found.median("acc") == 20
    assert found.failures == ["time-out"]
    assert found.mean("nothing") is found.mean("template_alone.acc") is None
    assert summarise(results, WIKI, "LMVSC", {"alpha": 2.0}) is None


def test_cases_come_in_the_papers_order():
    results = Results()
    wanted = [Case("ProteinFold"), Case("Wiki"), Case("digits", 600), Case("mine")]
    for case in reversed(wanted):
        add(results, case, "LMVSC")
    assert cases_of(results) == wanted
