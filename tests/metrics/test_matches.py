import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unaligned import metrics

labelings = st.integers(1, 12).flatmap(
    lambda n: st.tuples(
        *[st.lists(st.integers(0, 3), min_size=n, max_size=n).map(np.array)] * 2
    )
)


def test_alignment_rates_leave_unmatched_rows_out():
    y_i, y_t = np.array([0, 1, 1]), np.array([1, 0, 1, 0])
    assert metrics.category_alignment_rate(y_i, y_t, [1, -1, 0, -1]) == 0.5
    assert metrics.instance_alignment_rate([7, 8, 9], [8, 7, 9, 5], [1, 0, 0, -1]) == (
        pytest.approx(2 / 3)
    )
    assert np.isnan(metrics.category_alignment_rate(y_i, y_t, [-1] * 4))


def test_alignment_rates_refuse_permutations_that_do_not_fit():
    with pytest.raises(ValueError, match="one entry per template row"):
        metrics.category_alignment_rate([0, 1], [0, 1], [0])
    with pytest.raises(ValueError, match="names rows 0 to 2, but the view has 2"):
        metrics.instance_alignment_rate([0, 1], [0, 1], [0, 2])


@given(labelings)
def test_chance_is_the_mean_over_random_matchings(pair):
    y_i, y_t = pair
    every_shift = [
        metrics.category_alignment_rate(y_i, y_t, np.roll(np.arange(len(y_i)), shift))
        for shift in range(len(y_i))
    ]
    chance = metrics.category_alignment_chance(y_i, y_t)
    assert chance == pytest.approx(np.mean(every_shift))
