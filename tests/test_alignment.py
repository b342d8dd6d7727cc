import sys
from xml.etree import ElementTree

import numpy as np
import pytest

from unaligned import Alignment
from unaligned.known_pairs import check_aligned
from unaligned.views import check_views


@pytest.fixture
def alignment():
    return Alignment(
        template=1,
        permutations=[np.array([2, 0, -1]), np.arange(3), np.array([1, -1, 0])],
        confidence=[np.array([0.9, 0.5, 0.0]), np.ones(3), np.array([1.0, 0.0, 0.3])],
        trust=np.array([0.2, 1.0, 0.7]),
        view_names=["a", "b", "c"],
    )


def test_pairs_with_the_template_and_between_two_other_views(alignment):
    np.testing.assert_array_equal(alignment.pairs(0, 1), [[2, 0], [0, 1]])
    np.testing.assert_array_equal(alignment.pairs(0, 2), [[2, 1]])
    np.testing.assert_array_equal(alignment.pairs("c", "a"), [[1, 2]])


def test_pairs_names_the_views_there_are(alignment):
    with pytest.raises(ValueError, match=r"view 'x' is none of the 3 views \['a', 'b'"):
        alignment.pairs("x", 0)
    with pytest.raises(ValueError, match="view 3 is none"):
        alignment.pairs(0, 3)


def test_views_are_found_by_index_and_by_name(alignment):
    assert [alignment.index_of(view) for view in ("c", 1, -1)] == [2, 1, 2]


def test_trusted_pairs_are_those_of_trusted_views_and_can_be_passed_on(alignment):
    assert list(alignment.trusted_pairs()) == [(1, 2)]
    assert list(alignment.trusted_pairs(at_least=0.1)) == [(1, 0), (1, 2)]
    views = check_views([np.eye(3)] * 3)
    known = check_aligned(alignment.trusted_pairs(), views)
    np.testing.assert_array_equal(known.between(2, 1), [[1, 0], [0, 2]])


def test_table_has_a_line_per_template_row_and_other_view(alignment):
    frame = alignment.to_frame()
    assert list(frame.columns) == ["template_row", "view", "row", "confidence", "trust"]
    assert len(frame) == 6
    line = frame[(frame.view == "c") & (frame.template_row == 2)].iloc[0]
    assert (line["row"], line["confidence"], line["trust"]) == (0, 0.3, 0.7)


def test_table_of_a_single_view_is_empty():
    alone = Alignment(0, [np.arange(3)], [np.ones(3)], np.ones(1))
    assert len(alone.to_frame()) == 0


def test_without_pandas_the_way_out_is_named(alignment, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pip install unaligned\[io\]"):
        alignment.to_frame()


def test_repr_says_what_matters(alignment):
    assert repr(alignment) == (
        "Alignment of 3 views with the 3 rows of view b (trust a: 0.20, b: 1.00, "
        "c: 0.70)"
    )


def test_notebooks_show_a_table_of_the_views(alignment):
    odd = Alignment(**vars(alignment) | {"view_names": ["a", "b", "<c>"]})
    root = ElementTree.fromstring(odd._repr_html_())  # well-formed, names escaped
    rows = [[cell.text for cell in row] for row in root.find("tbody")]
    assert [row[:3] for row in rows] == [
        ["a", "2 of 3", "0.7"],
        ["b", "template", None],
        ["<c>", "2 of 3", "0.65"],
    ]
    assert [float(m.get("value")) for m in root.iter("meter")] == [0.2, 0.7]


def test_views_are_named_by_index_unless_told():
    alone = Alignment(0, [np.arange(3)] * 2, [np.ones(3)] * 2, np.ones(2))
    assert alone.view_names == ["0", "1"]
