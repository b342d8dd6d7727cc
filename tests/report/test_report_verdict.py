import re
from dataclasses import replace

import numpy as np
import pytest
from made_findings import N, make_findings

from unaligned.alignment import Alignment
from unaligned.report.curve import draw_curve, round_steps
from unaligned.report.verdict import judge, mood, standing


def with_trust(*trust, matched=True, measured=False, clustered=True):
    """Findings whose views have this trust and partners for all rows, or for none."""
    base = make_findings()
    rows = np.arange(N) if matched else np.full(N, -1)
    views = [
        replace(
            view,
            name=name,
            trust=value,
            partners=np.arange(N) if i == 0 else rows,
            shares_clusters=True,
            labels=view.labels if clustered else None,
        )
        for i, (view, value, name) in enumerate(
            zip(base.views, [1.0, *trust], "tuv", strict=False)
        )
    ]
    return replace(base, views=views, trust_is_measured=measured)


def sentences(findings):
    verdict = judge(findings)
    assert len(verdict.sentences) == 3
    for sentence in verdict.sentences:
        assert sentence.endswith(".")
        assert not re.search(r"[a-z]\. [A-Z]", sentence), "more than one sentence"
    return verdict.level, " ".join(verdict.sentences)


def test_views_that_were_refused_are_named():
    level, text = sentences(make_findings())
    assert level == "partial"
    assert "found 3 clusters in 3 views with 25 rows each" in text
    assert "aligned view “<b>atac</b>” with view “rna”" in text
    assert "refused view “protein”, which was clustered on its own" in text
    # Confidence of the 20 matches is 0.04, 0.08, … 0.8: its median is 0.42.
    assert "The 20 matches can be used: the lowest trust is 0.97" in text
    assert "confidence of 0.42 or more" in text


def test_all_views_aligned():
    level, text = sentences(with_trust(0.9, 0.8, measured=True))
    assert level == "good"
    assert "aligned views “u” and “v” with view “t”." in text


def test_nothing_aligned_says_that_clusters_do_not_carry_over():
    level, text = sentences(with_trust(0.1, 0.2, matched=False, measured=True))
    assert level == "none"
    assert "matched no rows" in text
    assert "clusters of the same number" in text
    _, text = sentences(with_trust(0.1, matched=False, measured=True, clustered=False))
    assert "compared 2 views" in text
    assert "cluster" not in text


def test_guesses_are_called_chance():
    level, text = sentences(with_trust(0.0, 0.0))
    assert level == "none"
    assert "No pair of rows was known beforehand" in text
    assert "Treat its 50 matches as chance" in text


def test_known_partners_are_told_from_guesses():
    level, text = sentences(with_trust(0.2, 0.4))
    assert level == "partial"
    assert "20\u00a0% to 40\u00a0% had a partner known beforehand" in text
    # 20 of 25 in one view, and 15 of 25 in the other.
    assert "Nothing vouches for the other 35 matches" in text


def test_all_partners_known():
    level, text = sentences(with_trust(1.0, 1.0))
    assert level == "good"
    assert "none had to be found" in text


def test_rows_left_without_partner_are_no_guesses():
    level, text = sentences(with_trust(0.0, matched=False))
    assert level == "none"
    assert "chance" not in text
    assert "left without one" in text


def test_one_view_needs_no_partner():
    level, text = sentences(with_trust())
    assert level == "good"
    assert "one view only" in text


@pytest.mark.parametrize(
    ("trust", "measured", "word", "level"),
    [
        (0.7, True, "Aligned", "good"),
        (0.3, True, "Not aligned", "none"),
        (1.0, False, "Known", "good"),
        (0.0, False, "Guessed", "none"),
        (0.25, False, "25\u00a0% known", "partial"),
        (0.001, False, "under 1\u00a0% known", "partial"),
        (0.999, False, "over 99\u00a0% known", "partial"),
    ],
)
def test_standing_of_a_view(trust, measured, word, level):
    findings = with_trust(trust, measured=measured)
    assert standing(findings.views[0], findings) == "Template"
    assert standing(findings.views[1], findings) == word
    assert mood(findings.views[1], findings) == level


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
    views = [replace(v, confidence=np.full(25, 0.999)) for v in found.views]
    _, text = sentences(replace(found, views=views))
    assert "half of them have a confidence above 0.99." in text


def test_views_aligned_apart_from_the_template_are_named():
    findings = make_findings()
    last = findings.views[-1]
    views = [*findings.views, replace(last, name="dna"), replace(last, name="noise")]
    rows, sure = [np.arange(25)] * 5, [np.ones(25)] * 5
    apart = Alignment(2, rows, sure, np.array([0, 0, 1, 0.9, 0]))
    findings = replace(findings, views=views, apart=[apart])
    level, text = sentences(findings)
    assert level == "partial"
    assert "; apart from them, views “protein” and “dna” with each other" in text
    assert "; it refused view “noise”, which was clustered on its own." in text
    told = [standing(view, findings) for view in views[2:]]
    assert told == ["Aligned apart", "Aligned apart", "Not aligned"]
