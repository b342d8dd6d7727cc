import re
from dataclasses import replace

import numpy as np
import pytest
from made_findings import N, make_findings

from unaligned.alignment import Alignment
from unaligned.report.curve import draw_curve, round_steps
from unaligned.report.verdict import judge, level_of, standing


def with_views(*others, matched=True, clustered=True):
    """Findings of views with this verdict, trust and known share.

    They have partners for all rows, or for none.
    """
    base = make_findings()
    rows = np.arange(N) if matched else np.full(N, -1)
    views = []
    for i, (verdict, trust, known) in enumerate([("objects", 1.0, 1.0), *others]):
        view = base.views[min(i, 2)]
        view = replace(
            view,
            name="tuvw"[i],
            verdict=verdict,
            trust=trust,
            known=known,
            partners=np.arange(N) if i == 0 else rows,
            shares_clusters=True,
            labels=view.labels if clustered else None,
        )
        views.append(view)
    return replace(base, views=views)


def untested(*known, **options):
    return with_views(*[("untested", np.nan, share) for share in known], **options)


def sentences(findings, n_sentences=3):
    verdict = judge(findings)
    assert len(verdict.sentences) == n_sentences
    for sentence in verdict.sentences:
        assert sentence.endswith(".")
        assert not re.search(r"[a-z]\. [A-Z]", sentence), "more than one sentence"
    return verdict.level, " ".join(verdict.sentences).replace("\u00a0", " ")


def test_views_that_were_refused_are_named():
    level, text = sentences(make_findings())
    assert level == "partial"
    assert "found 3 clusters in 3 views with 25 rows each" in text
    assert "matched the rows of view “<b>atac</b>” (trust 97 %) one by one" in text
    assert "refused view “protein” (trust 10 %), which was clustered on its own" in text
    # Confidence of the 20 matches is 0.04, 0.08, … 0.8, its mean 0.42; trust is 0.97.
    assert "The 20 matches can be used: about 41 % of them are expected to be" in text


def test_a_view_that_is_clearer_than_the_matched_ones_is_named():
    findings = with_views(("objects", 0.9, 0), ("none", 0.1, 0))
    _, text = sentences(replace(findings, best_view=2), n_sentences=4)
    assert "The clusters of view “v” are predicted better than those of the" in text
    for best in (None, 0, 1):
        sentences(replace(findings, best_view=best))


def test_all_views_aligned():
    level, text = sentences(with_views(("objects", 0.9, 0), ("objects", 0.8, 0)))
    assert level == "good"
    assert "rows of views “u” (trust 90 %) and “v” (trust 80 %) one by one" in text
    assert "with those of view “t”." in text


def test_nothing_aligned_says_that_clusters_do_not_carry_over():
    level, text = sentences(
        with_views(("none", 0.1, 0), ("none", 0.2, 0), matched=False)
    )
    assert level == "none"
    assert "the highest trust is 20 %), and no rows have partners" in text
    assert "clusters of the same number" in text
    _, text = sentences(with_views(("none", 0.1, 0), matched=False, clustered=False))
    assert "compared 2 views" in text
    assert "without an object in common get the same answer" in text
    assert "cluster" not in text


def test_a_view_with_too_little_evidence_is_promising_and_not_aligned():
    findings = with_views(("none", 0.3, 0), ("none", 0.001, 0), matched=False)
    views = list(findings.views)
    views[1] = replace(views[1], promising=True)
    findings = replace(findings, views=views)
    level, text = sentences(findings)
    assert level == level_of(views[1]) == "none"
    assert judge(findings).headline == "Promising, not confirmed"
    assert standing(views[1], findings) == "Promising"
    assert standing(views[2], findings) == "Not aligned"
    assert "View “u” (trust 30 %) is promising, not confirmed" in text
    views[2] = replace(
        views[2], verdict="objects", trust=0.9, partners=views[0].partners
    )
    mixed = replace(findings, views=views)
    assert judge(mixed).headline == "Some views are aligned"
    assert "“u” (trust 30 %) is promising" in sentences(mixed, 4)[1]


def test_known_pairs_of_refused_views_are_no_matches_of_the_method():
    _, text = sentences(with_views(("none", 0.1, 1)))
    assert "no rows but those of 25 known pairs have partners" in text


def test_groups_that_correspond_are_told_from_rows():
    given = with_views(("classes", 0.8, 0), matched=False)
    level, text = sentences(given)
    assert level == "partial"
    assert judge(given).headline == "Groups correspond, single rows do not"
    assert "groups of rows, though not single rows, correspond between view" in text
    assert "“t” and view “u” (trust 80 %)." in text
    assert "clusters of view “u” have the names of the template's, and no rows" in text
    _, text = sentences(with_views(("classes", 0.8, 0), matched=False, clustered=False))
    assert "Compare groups of rows only: no rows have partners." in text
    both = with_views(("objects", 0.9, 0), ("classes", 0.8, 0))
    level, text = sentences(both)
    assert (level, judge(both).headline) == ("partial", "Some views are aligned")
    assert "The 25 matches can be used" in text
    assert "; clusters of view “v” have the names of the template's." in text


def test_what_a_verdict_rests_on_is_told():
    given = with_views(("objects", 0.9, 0.2))
    view = replace(given.views[1], basis="known pairs")
    _, text = sentences(replace(given, views=[given.views[0], view]))
    assert "view “u” (trust 90 %, from known pairs)" in text


def test_known_pairs_that_the_data_contradict_are_counted():
    given = make_findings(suspects={(0, 1): np.array([[0, 3]])})
    _, text = sentences(given, 4)
    assert text.endswith("Check 1 known pair that the data contradict.")


def test_untested_views_beside_tested_ones_are_named():
    level, text = sentences(with_views(("objects", 0.9, 0), ("untested", np.nan, 0)))
    assert level == "partial"
    assert "; it has no test for the matches of view “v”." in text
    level, text = sentences(with_views(("none", 0.1, 0), ("untested", np.nan, 0)))
    assert level == "none"
    assert "Rely on no partners of rows of view “t” but known ones." in text


def test_guesses_are_called_chance():
    level, text = sentences(untested(0.0, 0.0))
    assert level == "none"
    assert "No pair of rows was known beforehand" in text
    assert "this method has no test of its matches: their trust is empty" in text
    assert "Treat its 50 matches as chance" in text


def test_known_partners_are_told_from_guesses():
    level, text = sentences(untested(0.2, 0.4))
    assert level == "partial"
    assert "20 % to 40 % had a partner known beforehand" in text
    # 20 of 25 in one view, and 15 of 25 in the other.
    assert "Nothing supports the other 35 matches" in text


def test_all_partners_known():
    level, text = sentences(untested(1.0, 1.0))
    assert level == "good"
    assert "none had to be found" in text


def test_rows_left_without_partner_are_no_guesses():
    level, text = sentences(untested(0.0, matched=False))
    assert level == "none"
    assert "chance" not in text
    assert "left without one" in text


def test_one_view_needs_no_partner():
    level, text = sentences(untested())
    assert level == "good"
    assert "one view only" in text


@pytest.mark.parametrize(
    ("verdict", "known", "word", "level"),
    [
        ("objects", 0, "Aligned", "good"),
        ("classes", 0, "Classes only", "partial"),
        ("none", 0, "Not aligned", "none"),
        ("none", 0.2, "Not aligned", "partial"),
        ("untested", 1.0, "Known", "good"),
        ("untested", 0.0, "Guessed", "none"),
        ("untested", 0.25, "25\u00a0% known", "partial"),
        ("untested", 0.001, "under 1\u00a0% known", "partial"),
        ("untested", 0.999, "over 99\u00a0% known", "partial"),
    ],
)
def test_standing_of_a_view(verdict, known, word, level):
    findings = with_views((verdict, 0.7, known))
    assert standing(findings.views[0], findings) == "Template"
    assert standing(findings.views[1], findings) == word
    assert level_of(findings.views[1]) == level


@pytest.mark.parametrize(("low", "high"), [(1, 60), (-3, 4), (0.1, 0.11), (5, 5)])
def test_round_steps_enclose_a_range_evenly(low, high):
    steps = round_steps(low, high, 4)
    assert steps[0] <= low
    assert steps[-1] >= high
    assert 2 <= len(steps) <= 6
    np.testing.assert_allclose(np.diff(steps), steps[1] - steps[0])


def test_ticks_stand_where_their_values_are():
    values = np.array([2.5e6, 1.2e6, 1.1e6])
    curve = draw_curve(values)
    heights = [float(tick.text) for tick in curve.up]
    ends = [float(point.split(",")[1]) for point in curve.path[1:].split("L")]
    # The place of a value, read off the axis.
    read = np.interp(values, heights, [tick.at for tick in curve.up])
    np.testing.assert_allclose(read, 100 - np.array(ends), atol=0.01)


def test_a_constant_objective_is_a_flat_line():
    assert len({p.split(",")[1] for p in draw_curve(np.ones(4)).path.split("L")}) == 1


def test_no_confidence_is_said_to_be_more_than_sure():
    found = make_findings()
    sure = {"confidence": np.full(25, 0.999), "trust": 0.999}
    views = [replace(v, **sure) for v in found.views]
    _, text = sentences(replace(found, views=views))
    assert "over 99 % of them are expected to be right." in text


def test_doubtful_matches_are_counted():
    found = make_findings()  # confidence of 20 matches: 0.04, 0.08, ... 0.8
    assert found.views[1].n_doubtful == 12
    _, text = sentences(found)
    assert "right (review the 12 with a confidence below 50 % first)." in text
    sure = np.where(np.arange(N) == 3, 0.4, 0.9)
    one = [found.views[0], replace(found.views[1], confidence=sure), found.views[2]]
    assert "the one with a confidence" in sentences(replace(found, views=one))[1]


def test_known_matches_are_right_whatever_trust_is():
    view = replace(make_findings().views[1], known=0.2, trust=0.5)
    sure = np.where(np.arange(N) < 5, 1.0, 0.6)
    view = replace(view, confidence=sure, partners=np.arange(N))
    assert view.expected_right == pytest.approx(5 + 0.5 * 0.6 * 20)


def test_views_aligned_apart_from_the_template_are_named():
    findings = make_findings()
    last = findings.views[-1]
    views = [*findings.views, replace(last, name="dna"), replace(last, name="noise")]
    rows, sure = [np.arange(25)] * 5, [np.ones(25)] * 5
    apart = Alignment(2, rows, sure, np.array([0, 0, 1, 0.9, 0]))
    findings = replace(findings, views=views, apart=[apart])
    level, text = sentences(findings)
    assert level == "partial"
    assert "; it aligned views “protein” and “dna” with each other, apart from" in text
    assert "; it refused view “noise” (trust 10 %), which was clustered on" in text
    told = [standing(view, findings) for view in views[2:]]
    assert told == ["Aligned apart", "Aligned apart", "Not aligned"]
