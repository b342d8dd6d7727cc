"""Audits of tables whose truth is known."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer

from unaligned import audit
from unaligned.disclosure.attack import prepare_attack
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
    assert 0.3 < counted.by_search <= counted.share < 0.45
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
    attack = prepare_attack(*views, settings_of("quick"), rng)
    found, trust = attack.search(rng)
    assert np.mean(found.partner == np.arange(569)) == counted.by_search
    assert trust == counted.trust


def test_a_key_does_the_same_for_rows_in_another_order(cancer):
    known = cancer.filter(regex="worst|patient")
    released = cancer.filter(regex="mean|patient")
    released = released.sample(frac=0.9, random_state=0)
    found = audit(known, released, key="patient", effort="quick")
    assert found.truth == "key"
    assert found.n_rows == len(released)
    assert 0.25 < found.share < 0.5
    assert all(column.name != "patient" for column in found.columns)


def test_an_estimate_is_near_the_truth(cancer, counted):
    known, released = (cancer.filter(like=word) for word in ("worst", "mean"))
    shuffled = released.sample(frac=1, random_state=3).reset_index(drop=True)
    found = audit(known, shuffled, random_state=3)
    assert found.truth == "unknown"
    assert found.by_search is None
    assert found.linked is None
    assert found.share == pytest.approx(counted.share, abs=0.05)
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
