"""Verdict: what was found and how far it can be trusted, in three sentences."""

from dataclasses import dataclass

import numpy as np

from unaligned.alignment import TRUSTED
from unaligned.report.findings import Findings, ViewFindings

__all__ = ["Verdict", "judge", "mood", "standing"]


@dataclass(frozen=True)
class Verdict:
    """What a reader needs to know first."""

    level: str
    """"good", "partial" or "none": how many of the matches can be used."""
    headline: str
    sentences: list[str]


def judge(findings: Findings) -> Verdict:
    """Say what was found, what that rests on, and what it is good for.

    Parameters
    ----------
    findings : Findings

    Returns
    -------
    Verdict
    """
    what = _what_was_found(findings)
    if not findings.others:
        return Verdict(
            "good",
            "One view, nothing to match",
            [
                what,
                "There is one view only, so no row had to find a partner.",
                "The clusters are those of this view.",
            ],
        )
    if findings.trust_is_measured:
        return _judge_measured(findings, what)
    return _judge_known(findings, what)


def standing(view: ViewFindings, findings: Findings) -> str:
    """Say where one view stands, in a word or two."""
    if view is findings.views[findings.template]:
        return "Template"
    if findings.trust_is_measured:
        if view.trust >= TRUSTED:
            return "Aligned"
        return "Aligned apart" if _is_apart(view, findings) else "Not aligned"
    if view.trust == 1:
        return "Known"
    if view.trust == 0:
        return "Guessed" if view.n_matched else "Not matched"
    return f"{_percent(view.trust)} known"


def mood(view: ViewFindings, findings: Findings) -> str:
    """Say how far the matches of one view can be relied on, as `Verdict.level` does."""
    if findings.trust_is_measured:
        return "good" if view.trust >= TRUSTED else "none"
    return "good" if view.trust == 1 else "partial" if view.trust > 0 else "none"


def _is_apart(view: ViewFindings, findings: Findings) -> bool:
    """Whether a view is aligned with others, but not with the template."""
    groups = [group.trusted() for group in findings.apart]
    return any(findings.views[i] is view for group in groups for i in group)


def _what_was_found(findings: Findings) -> str:
    views = findings.views
    counts = sorted({view.n_rows for view in views})
    if len(counts) == 1:
        each = " each" if len(views) > 1 else ""
        rows = f"{_number(counts[0], 'row')}{each}"
    else:
        rows = f"{counts[0]:,} to {counts[-1]:,} rows"
    of_what = f"{_number(len(views), 'view')} with {rows}"
    if not findings.n_clusters:
        return f"{findings.method} compared {of_what}."
    clusters = _number(findings.n_clusters, "cluster")
    return f"{findings.method} found {clusters} in {of_what}."


def _judge_measured(findings: Findings, what: str) -> Verdict:
    """For methods that test their own alignment and refuse views."""
    aligned = [view for view in findings.others if view.trust >= TRUSTED]
    refused = [view for view in findings.others if view.trust < TRUSTED]
    template = _quoted([findings.views[findings.template]])
    clustered = findings.n_clusters > 0
    if not aligned:
        nothing = (
            f"It found no relation between {template} and any other view that is "
            "clearly better than chance, and matched no rows."
        )
        therefore = (
            "Every view was therefore clustered on its own: clusters of the same "
            "number in two views have nothing to do with each other."
            if clustered
            else "A longer search or a few known pairs may change that."
        )
        return Verdict("none", "No view could be aligned", [what, nothing, therefore])
    relation = f"It aligned {_quoted(aligned)} with {template}"
    for group in findings.apart:
        members = _quoted([findings.views[i] for i in group.trusted()])
        relation += f"; apart from them, {members} with each other"
    alone = [view for view in refused if not _is_apart(view, findings)]
    if alone:
        relation += f"{'; it' if findings.apart else ' and'} refused {_quoted(alone)}"
        if clustered:
            were = "was clustered" if len(alone) == 1 else "were each clustered"
            relation += f", which {were} on its own"
    matches = sum(view.n_matched for view in aligned)
    sure = _median_confidence(aligned)
    usable = (
        f"The {_number(matches, 'match', 'matches')} can be used: the lowest trust is "
        f"{_decimal(min(view.trust for view in aligned))}, and half of them have a "
        f"confidence {'above 0.99' if sure > 0.99 else f'of {_decimal(sure)} or more'}."
    )
    return Verdict(
        "partial" if refused else "good",
        "Some views are aligned" if refused else "All views are aligned",
        [what, relation + ".", usable],
    )


def _judge_known(findings: Findings, what: str) -> Verdict:
    """For methods that cannot tell good matches from bad: only what was known counts.

    Where nothing was known, their matches were at chance level on all data we measured.
    """
    template = _quoted([findings.views[findings.template]])
    shares = [view.trust for view in findings.others]
    if min(shares) == 1:
        return Verdict(
            "good",
            "All partners were known",
            [
                what,
                f"The partner of every row of {template} was known beforehand.",
                "The matches are those that were given; none had to be found.",
            ],
        )
    n = findings.views[findings.template].n_rows
    n_guessed = sum(v.n_matched - round(v.trust * n) for v in findings.others)
    if max(shares) == 0:
        level, headline = "none", "Do not rely on the matches"
        known = "No pair of rows was known beforehand"
    else:
        level, headline = "partial", "Rely on known partners only"
        lowest, highest = _percent(min(shares)), _percent(max(shares))
        share = lowest if lowest == highest else f"{lowest} to {highest}"
        known = f"Of the rows of {template}, {share} had a partner known beforehand"
    if n_guessed:
        known += ", and this method cannot tell good matches from bad ones."
        guesses = _number(n_guessed, "match", "matches")
        carried = f"the clusters that they carry from {template} to the others"
        advice = (
            f"Treat its {guesses} as chance, since such matches were hardly better "
            f"wherever we could check, and with them {carried}."
            if max(shares) == 0
            else f"Nothing vouches for the other {guesses}, nor for {carried}."
        )
    else:
        known += "."
        advice = "Rows without a known partner were left without one."
        headline = headline if max(shares) else "No rows are matched"
    return Verdict(level, headline, [what, known, advice])


def _median_confidence(views: list[ViewFindings]) -> float:
    sure = [view.confidence[view.partners >= 0] for view in views]
    return float(np.median(np.concatenate(sure)))


def _quoted(views: list[ViewFindings]) -> str:
    """Names of views, as in: views “a”, “b” and “c”."""
    names = [f"“{view.name}”" for view in views]
    if len(names) == 1:
        return f"view {names[0]}"
    return f"views {', '.join(names[:-1])} and {names[-1]}"


def _number(count: int, one: str, many: str | None = None) -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def _percent(share: float) -> str:
    """Percent that is 0 or 100 only where the share is."""
    if 0 < share < 0.01:
        return "under 1\u00a0%"
    if 0.99 < share < 1:
        return "over 99\u00a0%"
    return f"{100 * share:.0f}\u00a0%"


def _decimal(value: float) -> str:
    """Two decimals, or two digits where that would be too few."""
    return f"{value:.2f}" if value >= 0.1 or value == 0 else f"{value:.2g}"
