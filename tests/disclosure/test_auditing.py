"""Audits of tables whose truth is known."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer

from unaligned import audit
from unaligned.disclosure.attack import Matches, prepare_attack
from unaligned.disclosure.auditing import _best_search
from unaligned.savuc.config import settings_of


@pytest.fixture(scope="module")
def cancer():
    table = load_breast_cancer(as_frame=True).data
    table["patient"] = [f"p{row}" for row in range(len(table))]
    return table


@pytest.fixture(scope="module")
def counted(cancer):
    known, released = (cancer.filter(like=word) for word in ("worst", "mean"))
    return audit(known, released, same_order=True, effort="quick")


def test_rows_found_again_are_counted(cancer, counted):
    assert counted.truth == "same order"
    assert counted.above_chance
    assert 0.55 < counted.by_search <= counted.share < 0.75
    assert counted.n_found == round(counted.share * 569)
    for level in counted.levels:
        assert 0 < level.n_right <= level.n_rows
    assert {column.name for column in counted.columns} == {
        name for name in cancer if name.startswith("mean")
    }
    assert counted.columns[0].name == "mean texture"
    assert counted.sentences()[0].startswith("Warning: this table is not anonymous")


def test_the_share_is_that_of_the_matches(cancer, counted):
    from unaligned import prepare

    views = [prepare(cancer.filter(like=word)).X for word in ("worst", "mean")]
    rng = np.random.RandomState(0)
    order = rng.permutation(569)  # which an attacker does not know
    attack = prepare_attack(views[0], views[1][order], settings_of("quick"), rng)
    found, trust = attack.search(rng)
    assert np.mean(order[found.partner] == np.arange(569)) == counted.by_search
    assert trust == counted.trust


def test_a_key_does_the_same_for_rows_in_another_order(cancer):
    known = cancer.filter(regex="worst|patient")
    released = cancer.filter(regex="mean|patient")
    released = released.sample(frac=0.9, random_state=0)
    found = audit(known, released, key="patient", effort="quick")
    assert found.truth == "key"
    assert found.n_rows == len(released)
    assert 0.5 < found.share < 0.8
    assert all(column.name != "patient" for column in found.columns)


@pytest.mark.parametrize("seed", [1, 3])
def test_an_estimate_is_near_the_truth(seed, cancer, counted):
    known, released = (cancer.filter(like=word) for word in ("worst", "mean"))
    shuffled = released.sample(frac=1, random_state=seed).reset_index(drop=True)
    found = audit(known, shuffled, random_state=seed)
    assert found.truth == "unknown"
    assert found.by_search is None
    assert found.linked is None
    # What a search finds is estimated, not what the luckiest attacker would find.
    assert found.share == pytest.approx(counted.by_search, abs=0.08)
    assert "an estimated" in found.sentences()[0]


def test_unrelated_tables_are_no_more_than_chance():
    rng = np.random.RandomState(0)
    one, other = rng.normal(size=(150, 6)), rng.normal(size=(150, 6))
    found = audit(one, other, same_order=True, effort="quick")
    assert not found.above_chance
    assert found.sentences()[0].startswith("No more rows than by chance")
    estimated = audit(one, other, effort="quick")
    assert "may not be anonymous" in estimated.sentences()[0]
    assert any("does not trust them" in line for line in estimated.sentences())


@pytest.mark.parametrize(
    ("trusts", "kinds", "taken"),
    [
        ([0.1, 0.7, 0.9], [0, 1, 2], 1),  # the first that is trusted
        ([0.1, 0.3, 0.2], [0, 1, 2], 1),  # the most trusted
        ([0.1, 0.9, 0.8], [0, 0, 1], 2),  # the second is the first once more
    ],
)
def test_the_attack_searches_again_until_it_is_trusted(trusts, kinds, taken):
    partners = [np.roll(np.arange(10), kind) for kind in kinds]
    results = [Matches(partner, np.ones(10)) for partner in partners]
    queue = [*zip(results, trusts, strict=True)]

    class Found:
        def search(self, _):
            return queue.pop(0)

    found, trust = _best_search(Found(), None)
    assert found is results[taken]
    assert trust == trusts[taken]


@pytest.mark.parametrize("n_kinds", [1, 4])
def test_rows_that_look_the_same_are_not_found_by_their_order(n_kinds):
    one = np.random.RandomState(0).normal(size=(80, 6))
    other = np.repeat(one[:n_kinds], 80 // n_kinds, axis=0)
    found = audit(one, other, same_order=True, effort="quick")
    assert found.share < 0.1
    assert not found.above_chance
    if n_kinds > 1:  # columns with one value would be left out
        names = [f"p{row}" for row in range(80)]
        tables = [
            pd.DataFrame(X).add_prefix("c").assign(id=names) for X in (one, other)
        ]
        assert audit(*tables, key="id", effort="quick").share < 0.1


def test_numbers_too_large_to_square_are_named():
    rng = np.random.RandomState(0)
    one, other = rng.normal(size=(2, 60, 6))
    with pytest.raises(ValueError, match=r"the released table holds values .* units"):
        audit(one, other / np.abs(other).max() * 1e308, effort="quick")
    with pytest.raises(ValueError, match="6 and 6 columns to use, and 2 and 60 rows"):
        audit(one[:2], other, effort="quick")


def test_complaints():
    rng = np.random.RandomState(0)
    frame = pd.DataFrame(rng.normal(size=(30, 6))).add_prefix("c")
    with pytest.raises(ValueError, match="not both"):
        audit(frame, frame, key="c0", same_order=True)
    with pytest.raises(ValueError, match="30 and 20 rows"):
        audit(frame, frame[:20].reset_index(drop=True), same_order=True)
    with pytest.raises(ValueError, match="the attack needs 4"):
        audit(frame[["c0", "c1"]], frame, same_order=True)
    one = frame.assign(id=[f"a{row}" for row in range(30)])
    other = frame.assign(id=[f"b{row}" for row in range(30)])
    with pytest.raises(ValueError, match="No value of the key 'id'"):
        audit(one, other, key="id")
