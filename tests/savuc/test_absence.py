"""Rows without a partner, told from those that have one."""

import numpy as np
import pytest

from unaligned.savuc.absence import NOTHING, partnered, share_absent


def support_of(n=5000, n_with=3500, k=12, gain=6.0, seed=0):
    """Log support of the best of 100 strangers; some rows have a partner, too.

    Where a row has one, it stands in the first column and takes a stranger's place.
    """
    rng = np.random.RandomState(seed)
    strangers = np.sort(rng.normal(size=(n, 100)), axis=1)[:, ::-1]
    support = np.empty((n, k))
    support[:, 0], support[:, 1:] = strangers[:, k - 1], strangers[:, : k - 1]
    support[:n_with, 0] = gain + rng.normal(size=n_with)
    return support, np.arange(n) < n_with


@pytest.mark.parametrize("n_with", [1000, 2000, 3500, 5000])
def test_the_share_without_a_partner_is_found(n_with):
    support, has_one = support_of(n_with=n_with)
    found = partnered(support, np.where(has_one, 1.0, 1e-3))
    assert found.absent == pytest.approx(1 - has_one.mean(), abs=0.06)


@pytest.mark.parametrize("gain", [5.0, 6.0, 8.0])
def test_probability_is_the_share_of_rows_that_have_a_partner(gain):
    support, has_one = support_of(gain=gain)
    found = partnered(support, (has_one & (support.argmax(axis=1) == 0)).astype(float))
    total = found.probability.sum(axis=1)
    assert total.mean() == pytest.approx(has_one.mean(), abs=0.05)
    for low, high in ((0.0, 0.2), (0.2, 0.8), (0.8, 1.1)):
        inside = (total >= low) & (total < high)
        if inside.sum() > 100:
            share = has_one[inside].mean()
            assert total[inside].mean() == pytest.approx(share, abs=0.1)


def test_probability_rises_with_support_and_sums_to_less_than_one():
    support, has_one = support_of()
    total = partnered(support, has_one.astype(float)).probability.sum(axis=1)
    assert np.all(total < 1 + 1e-9)
    but_the_last = np.sort(support, axis=1)[:, 1:]
    order = np.argsort(np.log(np.exp(but_the_last).sum(axis=1)))
    assert np.all(np.diff(total[order]) > -1e-9)


def test_rows_without_candidates_have_no_partner():
    support, has_one = support_of()
    support[-100:] = -np.inf
    found = partnered(support, has_one.astype(float))
    assert np.all(found.probability[-100:] < 0.05)
    assert partnered(np.full((5, 2), NOTHING), np.ones(5)).absent == 1.0


def test_the_share_is_a_count_of_those_who_find_little():
    null = np.arange(10.0)
    total = np.array([0.0, 1, 2, 50, 60, 70, 80, 90, 95, 99])
    # Half of the null is at 4 or below, and three of ten rows.
    found = share_absent(total, null, np.full(10, 0.1))
    assert found == pytest.approx(3 / 10 / 0.5)


def test_where_no_row_is_believed_to_have_a_partner_none_has():
    found = partnered(np.zeros((50, 4)), np.full(50, 1e-15))
    assert found.absent == 1
    assert (found.probability == 0).all()
    assert (found.present == 0).all()
