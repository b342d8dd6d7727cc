import numpy as np
import pytest

from unaligned.kernels.pairs import TINY, pair_products, pass_messages


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_are_those_of_the_whole_table(dtype):
    rng = np.random.RandomState(0)
    A, B = (rng.normal(size=(n, 7)).astype(dtype) for n in (6, 9))
    rows, columns = rng.randint(6, size=40), rng.randint(9, size=40)
    expected = (A.astype(float) @ B.T)[rows, columns]
    found = pair_products(A, B, rows, columns)
    np.testing.assert_allclose(found, expected, atol=1e-5)


def plain_round(weights, alone, messages):
    """The equations over whole tables, in which a weight of zero is no pair."""
    terms = weights * messages
    rest = alone[:, None] + terms.sum(axis=1, keepdims=True) - terms
    from_rows = weights / rest
    found = 1 / (1 + from_rows.sum(axis=0) - from_rows)
    sums = (weights * found).sum(axis=1)
    return found, np.sum(sums / (sums + alone))


@pytest.mark.parametrize("share", [0.3, 1.0])
def test_a_round_of_messages_is_that_of_whole_tables(share):
    rng = np.random.RandomState(1)
    weights = rng.uniform(0.1, 2, size=(8, 11)) * (rng.uniform(size=(8, 11)) < share)
    alone, messages = rng.uniform(size=8), rng.uniform(size=(8, 11))
    rows, columns = np.nonzero(weights)
    starts = np.searchsorted(rows, np.arange(9))
    some = weights[rows, columns], alone, starts, columns, 11, messages[rows, columns]
    found, n_matched = pass_messages(*some)
    expected, n_expected = plain_round(weights, alone, messages)
    np.testing.assert_allclose(found, expected[rows, columns])
    assert n_matched == pytest.approx(n_expected)


def test_a_row_without_another_choice_claims_all_that_there_is():
    nothing, one = np.zeros(1), np.ones(1)
    pairs = one, nothing, np.array([0, 1]), np.array([0]), 1
    found, n_matched = pass_messages(*pairs, one)
    assert found == pytest.approx(1 / (TINY * (1 + 1 / TINY)))
    assert n_matched == 1
