from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unaligned.alignment import Alignment
from unaligned.known_pairs import check_aligned, check_links, name_row
from unaligned.views import check_views

VIEWS = check_views({"a": np.eye(4), "b": np.ones((4, 2)), "c": np.ones((4, 1))})
UNEQUAL = check_views([np.eye(4), np.eye(3)])
UNEQUAL_NAMED = check_views({"a": np.eye(4), "b": np.eye(4), "c": np.eye(2)})


def pairs_of(aligned, i, j, views=VIEWS):
    return list(zip(*check_aligned(aligned, views).between(i, j), strict=True))


@pytest.mark.parametrize(
    ("aligned", "expected"),
    [
        (None, []),
        ("all", [(0, 0), (1, 1), (2, 2), (3, 3)]),
        (2, [(0, 0), (1, 1)]),
        (np.int64(1), [(0, 0)]),
        (0, []),
        (np.array([False, True, False, True]), [(1, 1), (3, 3)]),
        ([True, False, False, False], [(0, 0)]),
        ({(0, 1): [(3, 0), (1, 2)]}, [(1, 2), (3, 0)]),
        ({("b", "a"): [(0, 3)]}, [(3, 0)]),
        ({(0, 1): []}, []),
        ({}, []),
    ],
)
def test_every_form(aligned, expected):
    assert sorted(pairs_of(aligned, 0, 1)) == expected


def test_pairs_reach_through_a_third_view():
    assert pairs_of({(0, 1): [(3, 2)], (1, 2): [(2, 1)]}, 0, 2) == [(3, 1)]


def test_views_of_unequal_length_can_share_their_first_rows():
    assert pairs_of(2, 0, 1, UNEQUAL) == [(0, 0), (1, 1)]


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([(3, 0), (0, 2)], [3, 2, 0, 1]),  # already so
        ([(1, 0)], [1, 3, 2, 0]),
        ([], [3, 2, 0, 1]),
    ],
)
def test_honouring_pairs_moves_only_what_it_must(pairs, expected):
    known = check_aligned({(0, 1): pairs}, VIEWS)
    moved = known.honoured(np.array([3, 2, 0, 1]), 0, 1)
    np.testing.assert_array_equal(moved, expected)


@given(st.permutations(range(4)), st.integers(0, 4))
def test_pairs_come_out_as_they_went_in(order, p):
    pairs = list(enumerate(order))[:p]
    assert sorted(pairs_of({(0, 2): pairs} if p else {}, 0, 2)) == pairs


@pytest.mark.parametrize(
    ("aligned", "error", "message"),
    [
        ("some", ValueError, "aligned='some' is not known. Use None"),
        (-1, ValueError, "between 0 and 4"),
        (5, ValueError, r"first 5 rows .* have \[4, 4, 4\] rows"),
        (0.5, TypeError, r"aligned=0.5 is a share.*int\(0.5"),
        (True, TypeError, "type bool"),
        (np.ones(3, bool), ValueError, "3 entries, but the views have 4 rows"),
        (np.arange(4), TypeError, "type ndarray, which is not known"),
        ({0: [(0, 0)]}, ValueError, "the key 0. Keys are two views"),
        ({(0, 7): [(0, 0)]}, ValueError, r"the key \(0, 7\)"),
        ({(1, 1): [(0, 0)]}, ValueError, "a view and itself"),
        ({(0, 1): [0, 1, 2]}, ValueError, r"shape \(n_pairs, 2\)"),
        ({(0, 1): [(0.0, 1.0)]}, ValueError, "integer pairs"),
        (
            {(0, 1): [(0, 4)]},
            ValueError,
            "names row 4 of view 'b', which has rows 0 to 3",
        ),
        ({(0, 1): [(-1, 0)]}, ValueError, "names row -1 of view 'a'"),
        ({(0, 1): [(0, 1), (2, 1)]}, ValueError, "rows 0 and 2 of view 'a' the same"),
        (
            {(0, 1): [(0, 0)], (1, 2): [(0, 0)], (0, 2): [(1, 0)]},
            ValueError,
            "contradict each other",
        ),
    ],
)
def test_what_makes_no_sense_is_named(aligned, error, message):
    with pytest.raises(error, match=message):
        check_aligned(aligned, VIEWS)


@pytest.mark.parametrize("aligned", ["all", np.ones(4, bool)])
def test_forms_that_need_equal_row_counts_say_so(aligned):
    with pytest.raises(ValueError, match=r"equally many rows, but they have \[4, 3\]"):
        check_aligned(aligned, UNEQUAL)


def test_a_view_is_known_to_itself():
    known = check_aligned({(0, 1): [(3, 2)]}, VIEWS)
    np.testing.assert_array_equal(known.partnered(0, 1), [2])
    np.testing.assert_array_equal(known.partnered(1, 0), [3])
    np.testing.assert_array_equal(known.partnered(2, 2), np.arange(4))
    assert known.partnered(2, 0).size == 0


def test_links_number_the_rows_of_all_views_through():
    links = {("b", "a"): [(0, 3), (0, 2)], (1, 2): [(3, 0)], (0, 2): []}
    found = check_links(links, UNEQUAL_NAMED, "must_link")
    np.testing.assert_array_equal(found, [(4, 3), (4, 2), (7, 8)])
    names = [name_row(row, UNEQUAL_NAMED) for row in (3, 4, 7, 8)]
    assert names == [
        "row 3 of view 'a'",
        "row 0 of view 'b'",
        "row 3 of view 'b'",
        "row 0 of view 'c'",
    ]


@pytest.mark.parametrize(
    ("links", "message"),
    [
        ({(0, 7): [(0, 0)]}, r"must_link has the key \(0, 7\)"),
        ({(1, 1): [(0, 0)]}, r"must_link has the key \(1, 1\), a view and itself"),
        ({(0, 1): [(0.5, 1)]}, r"must_link\[\(0, 1\)\] must be integer pairs"),
        ({(0, 1): [(0, 4)]}, r"must_link\[\(0, 1\)\] names row 4 of view 'b'"),
    ],
)
def test_complaints_about_links_name_them(links, message):
    with pytest.raises(ValueError, match=message):
        check_links(links, VIEWS, "must_link")


def test_found_pairs_never_contradict_known_ones():
    views = check_views([np.ones((4, 2)), np.ones((4, 3)), np.ones((4, 2))])
    known = check_aligned({(0, 1): [(0, 3)], (1, 2): [(2, 2)]}, views)
    rows = [np.arange(4), np.array([1, 3, 0, 2]), np.array([0, 1, 2, 3])]
    found = Alignment(0, rows, [np.ones(4)] * 3, np.array([1, 0.9, 0.1]))
    joined = known.with_found(found)
    pairs = dict(zip(*joined.between(0, 1), strict=True))
    # Row 0 keeps its partner 3; row 1 loses it; row 3's would be 2, which is known to
    # describe an object of its own.
    assert pairs == {0: 3, 2: 0}
    assert [*zip(*joined.between(1, 2), strict=True)] == [(2, 2)]
    assert joined.between(0, 2)[0].size == 0


def test_pairs_found_in_two_groups_of_views_are_not_mixed():
    views = check_views([np.ones((3, 2))] * 4)
    rows = [np.arange(3), np.array([2, 0, 1])] * 2
    nobody, sure = np.full(3, -1), [np.ones(3)] * 4
    apart = Alignment(
        1, [nobody, rows[0], nobody, rows[1]], sure, np.array([0, 1, 0, 1])
    )
    found = Alignment(
        0,
        [rows[0], nobody, rows[1], nobody],
        sure,
        np.array([1, 0, 1, 0]),
        others=[apart],
    )
    joined = check_aligned(None, views).with_found(found)
    told = {
        (i, j): [*zip(*joined.between(i, j), strict=True)]
        for i, j in combinations(range(4), 2)
    }
    together = [(0, 2), (1, 0), (2, 1)]
    assert told.pop((0, 2)) == told.pop((1, 3)) == together
    assert not any(told.values())


def test_lists_that_make_no_mask():
    views = check_views([np.eye(3), np.eye(3)])
    for aligned in ([None, np.eye(3)], [[1, 2], [3]], [True, [False]]):
        with pytest.raises(TypeError, match=r"aligned is of type list.*boolean mask"):
            check_aligned(aligned, views)
