import sys
from copy import deepcopy
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from unaligned import Alignment
from unaligned.alignment.parts import PROMISING, TRUSTED
from unaligned.known_pairs import check_aligned
from unaligned.savuc.config import Settings
from unaligned.savuc.trust import trust_in
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
    assert list(alignment.trusted_pairs(at_least=0.8)) == []
    views = check_views([np.eye(3)] * 3)
    known = check_aligned(alignment.trusted_pairs(), views)
    np.testing.assert_array_equal(known.between(2, 1), [[1, 0], [0, 2]])


def test_table_has_a_line_per_match(alignment):
    frame = alignment.to_frame()
    columns = ["template_view", "template_row", "template_id", "view", "row", "id"]
    columns += ["confidence", "trust", "verdict"]
    assert list(frame.columns) == columns
    assert len(frame) == 4
    line = frame[(frame.view == "c") & (frame.template_row == 2)].iloc[0]
    assert (line["row"], line["confidence"], line["trust"]) == (0, 0.3, 0.7)
    assert (line["template_id"], line["id"]) == ("2", "0")
    assert list(frame.verdict) == ["none"] * 2 + ["objects"] * 2
    assert (frame["row"] >= 0).all()


def test_rows_without_a_partner_have_missing_values_and_ids_are_the_users(alignment):
    ids = [["x", "y", "z", "w"], ["k", "l", "m"], None]
    named = alignment.with_rows([4, 3, 2], ids)
    frame = named.to_frame(unmatched=True)
    assert len(frame) == 6
    missing = frame[frame["row"].isna()]
    assert missing[["template_id", "view"]].to_numpy().tolist() == [
        ["m", "a"],
        ["l", "c"],
    ]
    assert missing["id"].isna().all()
    assert missing["confidence"].isna().all()
    assert frame["row"].dtype == "Int64"
    assert named.to_frame()["id"].tolist() == ["z", "x", "1", "0"]
    assert named.unmatched("a").tolist() == [1, 3]
    assert named.unmatched("b").tolist() == []
    with pytest.raises(ValueError, match="does not know how many rows"):
        alignment.unmatched(0)
    with pytest.raises(ValueError, match="row_ids is given without n_rows"):
        alignment.with_rows([], [None, None, ["p", "q"]])
    with pytest.raises(ValueError, match="row_ids has 5"):
        replace(alignment, n_rows=[4, 3, 2], row_ids=[None, None, 5])
    with pytest.raises(ValueError, match="row_ids names 3 rows of a view that has 2"):
        alignment.with_rows([4, 3, 2], [None, None, ["p", "q", "r"]])
    with pytest.raises(ValueError, match="n_rows has 1 entries"):
        alignment.with_rows([4], [None])


def test_groups_apart_have_lines_of_their_own(alignment):
    apart = replace(
        alignment,
        template=0,
        permutations=[np.arange(2), np.array([-1, -1]), np.array([1, 0])],
        confidence=[np.ones(2)] * 3,
        trust=np.array([1, 0, 0.9]),
        verdict=["objects", "none", "objects"],
    )
    frame = replace(alignment, others=[apart]).to_frame()
    assert set(frame.template_view) == {"a", "b"}
    own = frame[frame.template_view == "a"]
    assert own[["template_row", "view", "row"]].to_numpy().tolist() == [
        [0, "c", 1],
        [1, "c", 0],
    ]


class TestMerge:
    left = pd.DataFrame({"x": [1, 2, 3, 4], "both": list("abcd")})
    right = pd.DataFrame({"y": [10.5, 20.5], "both": list("ef")}, index=["p", "q"])

    def merge(self, alignment, **options):
        return alignment.merge(self.left, self.right, ("a", "c"), **options)

    @pytest.mark.parametrize(
        ("how", "x", "y"),
        [
            ("inner", [3], [20.5]),
            ("left", [3, 1, 2, 4], [20.5, None, None, None]),
            ("right", [3, None], [20.5, 10.5]),
            ("outer", [3, 1, 2, 4, None], [20.5, None, None, None, 10.5]),
        ],
    )
    def test_rows_stand_beside_their_partners(self, alignment, how, x, y):
        table = self.merge(alignment, how=how)
        assert list(table.columns) == ["x", "both_a", "y", "both_c", "confidence"]
        for column, expected in (("x", x), ("y", y)):
            values = table[column].astype(object)
            assert values.where(values.notna(), None).tolist() == expected
        assert table["confidence"][0] == 0.9  # the less sure of two matches
        assert table["confidence"][1:].isna().all()

    def test_is_pandas_own_merge_where_views_are_tables(self, alignment):
        known = alignment.with_rows([4, 3, 2], [None] * 3)
        pairs = known.pairs("a", "c")
        keyed = pd.DataFrame({"i": pairs[:, 0], "j": pairs[:, 1]})
        left, right = self.left.reset_index(), self.right.reset_index(drop=True)
        expected = keyed.merge(left, left_on="i", right_index=True).merge(
            right, left_on="j", right_index=True
        )
        assert self.merge(known)["x"].tolist() == expected["x"].tolist()

    def test_complaints(self, alignment):
        with pytest.raises(ValueError, match="how='cross' must be one of 'inner'"):
            self.merge(alignment, how="cross")
        known = alignment.with_rows([5, 3, 2], [None] * 3)
        with pytest.raises(ValueError, match="'a' has 4 rows, but the view had 5"):
            self.merge(known)


def test_table_of_a_single_view_is_empty():
    alone = Alignment(0, [np.arange(3)], [np.ones(3)], np.ones(1))
    assert len(alone.to_frame()) == 0


def test_without_pandas_the_way_out_is_named(alignment, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pip install unaligned\[io\]"):
        alignment.to_frame()


def test_repr_says_what_matters(alignment):
    assert repr(alignment) == (
        "Alignment of 3 views with the 3 rows of view b: a none (promising, not "
        "confirmed, trust 0.20), "
        "c objects (trust 0.70)"
    )
    known, trust = np.array([0.4, 1, 0]), np.array([0.9, 1, np.nan])
    found = replace(
        alignment,
        trust=trust,
        verdict=["classes", "objects", "untested"],
        known=known,
        suspects={(0, 1): np.array([[2, 0], [0, 1]])},
    )
    assert repr(found) == (
        "Alignment of 3 views with the 3 rows of view b: a classes (trust 0.90, "
        "40\u00a0% known), c untested; known pairs that the data contradict: 2"
    )


def test_promising_are_views_with_some_evidence_that_are_not_matched(alignment):
    assert alignment.promising() == [0]
    assert "a none (promising, not confirmed, trust 0.20)" in repr(alignment)
    assert "<td>none (promising)</td>" in alignment._repr_html_()
    assert replace(alignment, trust=np.array([0.005, 1, 0.7])).promising() == []
    bridged = ["known pairs", "structure", "structure"]  # their trust is of a p-value
    assert replace(alignment, basis=bridged).promising() == []
    pair = Alignment(
        0,
        alignment.permutations,
        alignment.confidence,
        np.array([1, 0.1, 0.8]),
        verdict=["objects", "none", "objects"],
    )
    apart = replace(alignment, template=1, trust=np.array([0.4, 1, 0.4]), verdict=[])
    assert apart.promising() == [0, 2]
    assert replace(apart, others=[pair]).promising() == []


def test_no_evidence_is_not_promising():
    settings = Settings()
    assert trust_in(0.0, settings) < PROMISING <= trust_in(0.002, settings) < TRUSTED


def test_notebooks_show_a_table_of_the_views(alignment):
    odd = Alignment(**vars(alignment) | {"view_names": ["a", "b", "<c>"]})
    root = ElementTree.fromstring(odd._repr_html_())  # well-formed, names escaped
    rows = [[cell.text for cell in row] for row in root.find("tbody")]
    assert [row[:4] for row in rows] == [
        ["a", "none (promising)", "2 of 3", "0.7"],
        ["b", "template", None, None],
        ["<c>", "objects", "2 of 3", "0.65"],
    ]
    assert [float(m.get("value")) for m in root.iter("meter")] == [0.2, 0.7]
    untested = replace(odd, trust=np.array([np.nan, 1, 0.7]), verdict=[])
    root = ElementTree.fromstring(untested._repr_html_())
    assert [float(m.get("value")) for m in root.iter("meter")] == [0.7]


def test_views_are_named_by_index_unless_told():
    alone = Alignment(0, [np.arange(3)] * 2, [np.ones(3)] * 2, np.ones(2))
    assert alone.view_names == ["0", "1"]


def test_a_verdict_that_is_not_given_follows_from_trust():
    rows, sure = [np.arange(2)] * 4, [np.ones(2)] * 4
    found = Alignment(3, rows, sure, np.array([0.5, 0.49, np.nan, np.nan]))
    assert found.verdict == ["objects", "none", "untested", "objects"]
    assert found.matched() == [0, 3]
    assert found.trusted() == [0]
    assert found.basis == ["structure"] * 4
    np.testing.assert_array_equal(found.known, [0, 0, 0, 1])
    assert found.suspects == {}


def test_trust_may_be_filled_in_before_the_verdict_is_asked_for():
    rows, sure = [np.arange(2)] * 2, [np.ones(2)] * 2
    found = Alignment(0, rows, sure, np.array([1.0, 0.1]))
    found.trust[1] = 0.9
    assert deepcopy(found).verdict == found.verdict == ["objects", "objects"]
    assert replace(found, others=[]).verdict == ["objects", "objects"]
    found.verdict[1] = "classes"
    assert found.matched() == [0]
    with pytest.raises(AttributeError, match="no attribute 'verdicts'"):
        _ = found.verdicts


def test_views_with_common_classes_are_trusted_and_not_matched(alignment):
    found = replace(alignment, verdict=["none", "objects", "classes"])
    assert found.trusted() == [1, 2]
    assert found.matched() == [1]
    assert found.trusted_pairs() == {}


@pytest.mark.parametrize("verdict", ["classes", "none", "untested"])
def test_of_views_that_are_not_matched_known_pairs_can_be_trusted(alignment, verdict):
    sure = [np.array([1.0, 0.5, 1.0]), *alignment.confidence[1:]]
    given = {"confidence": sure, "verdict": [verdict, "objects", "none"]}
    assert replace(alignment, **given).trusted_pairs() == {}  # none was known
    known = replace(alignment, **given, known=np.array([1 / 3, 1, 0]))
    pairs = known.trusted_pairs()
    assert list(pairs) == [(1, 0)]
    np.testing.assert_array_equal(pairs[1, 0], [[0, 2]])


def test_trusted_pairs_of_groups_apart_are_those_of_their_members():
    rows, sure = [np.arange(2)] * 4, [np.ones(2)] * 4
    trust = np.array([0.1, 0.1, 1, 0.9])
    apart = Alignment(2, rows, sure, trust, known=np.array([0.5, 0, 1, 0]))
    nobody = np.full(2, -1)
    found = Alignment(
        0, [rows[0], *[nobody] * 3], sure, np.array([1, 0.2, 0.2, 0.2]), others=[apart]
    )
    assert list(found.trusted_pairs()) == [(2, 3)]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"template": 3}, "template is 3, but there are 3 views"),
        ({"trust": np.ones(2)}, "trust has 2 entries, but there are 3 views"),
        ({"trust": np.array([0, 1, 1.5])}, r"trust is \[0. +1. +1.5\], but it must be"),
        ({"known": np.array([0, 1, np.nan])}, r"known is \[ ?0. +1. +nan\], but it"),
        ({"known": np.zeros(1)}, "known has 1 entries"),
        ({"view_names": ["a"]}, "view_names has 1 entries"),
        ({"verdict": ["objects"]}, "verdict has 1 entries, but there are 3 views"),
        ({"verdict": ["yes"] * 3}, "verdict holds 'yes', but it is one of 'objects'"),
        ({"basis": ["luck"] * 3}, "basis holds 'luck', but it is one of 'structure'"),
        ({"confidence": [np.ones(2)] * 3}, r"confidence has arrays of \[2, 2, 2\]"),
        ({"suspects": {(0, 1): [1, 2]}}, r"suspects\[\(0, 1\)\] has shape \(2,\)"),
        ({"suspects": {(0, 3): [[1, 2]]}}, "of two of the 3 views"),
    ],
)
def test_parts_that_do_not_fit_are_named(alignment, wrong, message):
    with pytest.raises(ValueError, match=message):
        Alignment(**vars(alignment) | wrong)
