"""What must not matter does not: the order of rows, columns and views, and scales.

Rows are drawn by their place, so that a search of rows in another order takes another
course. Where views correspond clearly it comes to the same end: verdicts are the same,
and so are 95 % of the matches and of the agreement of labels (adjusted Rand index).
Columns and scales change nothing but the rounding of numbers.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from tests.conftest import make_blobs
from tests.savuc.related_views import FEW_RIVALS, measured_views, shuffled_columns
from unaligned import SAVuC
from unaligned.estimators import ESTIMATORS

N = 80
ALIKE = 0.95
# A fit takes a second; more examples were tried once.
ONE = settings(max_examples=1, deadline=None, derandomize=True)
TWO = settings(ONE, max_examples=2)
SEEDS = st.integers(0, 10**6)
# Networks, and factors, start from random numbers for every column.
BY_COLUMN = ("PVC", "MvCLN", "SURE", "SMILE", "CPMN", "CMVNMF")
OTHERS = [cls for name, cls in ESTIMATORS.items() if name not in ("SAVuC", *BY_COLUMN)]


def views():
    """Two views of the same objects, and one that has nothing to do with them."""
    one, other = measured_views(N)
    order = np.random.RandomState(1).permutation(N)
    return [one, other[order], shuffled_columns(one, 5)]


def fit(Xs):
    return SAVuC(3, effort=FEW_RIVALS, random_state=0).fit(Xs)


@pytest.fixture(scope="module")
def expected():
    model = fit(views())
    assert model.alignment_.verdict == ["objects", "objects", "none"]
    return model


def assert_alike(found, expected, orders=None, places=(0, 1, 2)):
    """Compare fits; view i of one is ``places[i]`` of the other, in another order."""
    orders = orders or [np.arange(N)] * 3
    assert found.alignment_.verdict == [expected.alignment_.verdict[j] for j in places]
    for i, j in enumerate(places):
        labels = expected.view_labels_[j][orders[i]]
        agreement = adjusted_rand_score(found.view_labels_[i], labels)
        # The last has no clusters that could be found again from another start.
        assert agreement >= ALIKE or (j == 2 and (np.diff(orders[i]) != 1).any())
    at = [places.index(view) for view in (0, 1)]
    rows = found.alignment_.pairs(*at)
    pairs = {(orders[at[0]][r], orders[at[1]][s]) for r, s in rows}
    others = set(map(tuple, expected.alignment_.pairs(0, 1)))
    assert len(pairs & others) >= ALIKE * len(pairs | others)


@TWO
@given(seed=SEEDS)
def test_the_order_of_rows_does_not_matter(expected, seed):
    draw = np.random.RandomState(seed)
    orders = [draw.permutation(N) for _ in range(3)]
    found = fit([X[order] for X, order in zip(views(), orders, strict=True)])
    assert_alike(found, expected, orders)


@ONE
@given(seed=SEEDS)
def test_the_order_of_columns_does_not_matter(expected, seed):
    draw = np.random.RandomState(seed)
    found = fit([X[:, draw.permutation(X.shape[1])] for X in views()])
    assert_alike(found, expected)


@ONE
@given(scales=st.tuples(*[st.floats(1e-6, 1e6)] * 3))
def test_scales_of_views_do_not_matter(expected, scales):
    found = fit([scale * X for X, scale in zip(views(), scales, strict=True)])
    assert_alike(found, expected)


@TWO
@given(places=st.permutations(range(3)).filter(lambda places: places != [0, 1, 2]))
def test_the_order_of_views_does_not_matter(expected, places):
    Xs = views()
    found = fit([Xs[j] for j in places])
    assert_alike(found, expected, places=places)
    # What a view gives alone hangs on no other view, even where it has no clusters.
    alone = found.view_labels_[places.index(2)]
    np.testing.assert_array_equal(alone, expected.view_labels_[2])


def test_a_power_of_two_does_not_even_change_rounding(expected):
    found = fit([scale * X for X, scale in zip(views(), (4, 0.5, 256), strict=True)])
    for one, other in zip(found.view_labels_, expected.view_labels_, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(found.alignment_.trust, expected.alignment_.trust)


@pytest.mark.parametrize("cls", OTHERS, ids=lambda cls: cls.__name__)
def test_no_method_heeds_the_order_of_columns(cls):
    draw, Xs = np.random.RandomState(0), make_blobs(n=60, spread=0.3)[0]
    Xs = [np.abs(X) for X in Xs]
    mixed = [X[:, draw.permutation(X.shape[1])] for X in Xs]
    model = cls(3, random_state=0)
    few = {"max_iter", "n_restarts"} & {*model.get_params()}
    model.set_params(**dict.fromkeys(few, 10))
    labels = [model.fit(some, aligned=30).view_labels_ for some in (Xs, mixed)]
    for one, other in zip(*labels, strict=True):
        assert adjusted_rand_score(one, other) >= ALIKE
