"""Verdict: the results and how far they can be trusted, in a few sentences."""

from dataclasses import dataclass

from unaligned.alignment import VERDICTS
from unaligned.alignment.text import percent
from unaligned.report.findings import Findings, ViewFindings

__all__ = ["Verdict", "judge", "level_of", "standing"]

STANDINGS = {"objects": "Aligned", "classes": "Classes only", "none": "Not aligned"}


@dataclass(frozen=True)
class Verdict:
    """What a reader needs to know first."""

    level: str
    """"good", "partial" or "none": how far the matches can be used."""
    headline: str
    sentences: list[str]


def judge(findings: Findings) -> Verdict:
    """Summarise what was found, what it is based on, and how it can be used.

    Parameters
    ----------
    findings : Findings

    Returns
    -------
    Verdict
        Three sentences, and more if there is a better view or the data contradict known
        pairs.
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
    if all(view.verdict == "untested" for view in findings.others):
        verdict = _judge_untested(findings, what)
    else:
        verdict = _judge_tested(findings, what)
    if findings.n_suspects:
        n_suspects = _number(findings.n_suspects, "known pair")
        verdict.sentences.append(f"Check {n_suspects} that the data contradict.")
    return verdict


def standing(view: ViewFindings, findings: Findings) -> str:
    """Describe the result for one view in a word or two."""
    if view is findings.views[findings.template]:
        return "Template"
    if view.verdict == "none" and findings.is_apart(view):
        return "Aligned apart"
    if view.promising:
        return "Promising"
    if view.verdict != "untested":
        return STANDINGS[view.verdict]
    if view.known == 1:
        return "Known"
    if view.known == 0:
        return "Guessed" if view.n_matched else "Not matched"
    return f"{percent(view.known)} known"


def level_of(view: ViewFindings) -> str:
    """Level of the matches of one view, as in `Verdict.level`."""
    if view.verdict == "objects" or view.known == 1:
        return "good"
    return "partial" if view.verdict == "classes" or view.known > 0 else "none"


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


def _judge_tested(findings: Findings, what: str) -> Verdict:
    """For methods that test their own alignment and refuse views."""
    matched, classes, refused, untested = (
        [view for view in findings.others if view.verdict == verdict]
        for verdict in VERDICTS
    )
    template = _quoted([findings.views[findings.template]])
    found = []
    if matched:
        own = _with_trust(matched)
        found.append(f"matched the rows of {own} one by one with those of {template}")
    if classes:
        found.append(
            "found that groups of rows, though not single rows, correspond between "
            f"{template} and {_with_trust(classes)}"
        )
    for group in findings.apart:
        members = _quoted([findings.views[i] for i in group.trusted()])
        found.append(f"aligned {members} with each other, apart from {template}")
    alone = [view for view in refused if not findings.is_apart(view)]
    if not found and not untested:
        return _judge_refused(findings, what, template)
    if alone:
        were = "was clustered" if len(alone) == 1 else "were each clustered"
        own = f", which {were} on its own" if findings.n_clusters else ""
        found.append(f"refused {_with_trust(alone)}{own}")
    if untested:
        found.append(f"has no test for the matches of {_quoted(untested)}")
    if len(matched) == len(findings.others):
        level, headline = "good", "All views are aligned"
    elif matched:
        level, headline = "partial", "Some views are aligned"
    elif classes:
        level, headline = "partial", "Groups correspond, single rows do not"
    else:
        level, headline = "none", "No view could be aligned"
    sentences = [what, f"It {'; it '.join(found)}.", _use(findings, matched, classes)]
    sentences += _promising(findings.others)
    return Verdict(level, headline, sentences + _best_view(findings, matched))


def _judge_refused(findings: Findings, what: str, template: str) -> Verdict:
    """For views that are all refused."""
    highest = max(findings.others, key=lambda view: view.trust)
    nothing = (
        f"It found no relation between {template} and any other view that it trusts "
        f"(the highest trust is {percent(highest.trust)}), and "
        f"{_no_partner(findings.others)}."
    )
    promising = _promising(findings.others)
    if findings.n_clusters:
        therefore = (
            "Every view was therefore clustered on its own: clusters of the same "
            "number in two views have nothing to do with each other."
        )
    elif promising:
        therefore = "No row is matched rather than a wrong one."
    else:
        therefore = (
            "No row is matched rather than a wrong one; views without an object in "
            "common get the same answer, since a map between them cannot be tested."
        )
    if promising:
        headline = "Promising, not confirmed"
        return Verdict("none", headline, [what, *promising, therefore])
    return Verdict("none", "No view could be aligned", [what, nothing, therefore])


def _use(
    findings: Findings, matched: list[ViewFindings], classes: list[ViewFindings]
) -> str:
    """Say how the matches of aligned views can be used."""
    named, template = "", _quoted([findings.views[findings.template]])
    if classes and findings.n_clusters:
        named = f"clusters of {_quoted(classes)} have the names of the template's"
    if matched:
        n_matches = sum(view.n_matched for view in matched)
        matches = _number(n_matches, "match", "matches")
        right = percent(sum(view.expected_right for view in matched) / n_matches)
        about = right if right.startswith(("over", "under")) else f"about {right}"
        text = f"The {matches} can be used: {about} of them are expected to be right"
        n_doubtful = sum(view.n_doubtful for view in matched)
        if n_doubtful:
            those = "one" if n_doubtful == 1 else f"{n_doubtful:,}"
            text += (
                f" (review the {those} with a confidence below {percent(0.5)} first)"
            )
        return f"{text}; {named}." if named else f"{text}."
    if named:
        return f"The {named}, and {_no_partner(classes)}."
    if classes:
        return f"Compare groups of rows only: {_no_partner(classes)}."
    return f"Rely on no partners of rows of {template} but known ones."


def _promising(views: list[ViewFindings]) -> list[str]:
    """Name the views for whose matching there is evidence, though too little."""
    promising = [view for view in views if view.promising]
    if not promising:
        return []
    one = len(promising) == 1
    are, their = ("is", "its best matching") if one else ("are", "their best matchings")
    names = _with_trust(promising)
    return [
        f"{names[0].upper()}{names[1:]} {are} promising, not confirmed: rows that were "
        f"held out support {their}, but not enough to match rows."
    ]


def _best_view(findings: Findings, matched: list[ViewFindings]) -> list[str]:
    """Name a view whose clusters are predicted better than those of matched views."""
    if findings.best_view is None:
        return []
    best = findings.views[findings.best_view]
    if not matched or best.verdict == "objects":
        return []
    return [
        f"The clusters of {_quoted([best])} are predicted better than those of the "
        "matched views: take its labels where those of one view are wanted."
    ]


def _no_partner(views: list[ViewFindings]) -> str:
    n_known = sum(view.n_matched for view in views)
    but = f" but those of {_number(n_known, 'known pair')}" if n_known else ""
    return f"no rows{but} have partners"


def _judge_untested(findings: Findings, what: str) -> Verdict:
    """For methods without a test of their matches: only known pairs count.

    Without known pairs, their matches were at chance level on all data we measured.
    """
    template = _quoted([findings.views[findings.template]])
    shares = [view.known for view in findings.others]
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
    n_guessed = sum(v.n_matched - round(v.known * n) for v in findings.others)
    if max(shares) == 0:
        level, headline = "none", "Do not rely on the matches"
        known = "No pair of rows was known beforehand"
    else:
        level, headline = "partial", "Rely on known partners only"
        lowest, highest = percent(min(shares)), percent(max(shares))
        share = lowest if lowest == highest else f"{lowest} to {highest}"
        known = f"Of the rows of {template}, {share} had a partner known beforehand"
    if n_guessed:
        known += ", and this method has no test of its matches: their trust is empty."
        guesses = _number(n_guessed, "match", "matches")
        carried = f"the clusters that they carry from {template} to the others"
        advice = (
            f"Treat its {guesses} as chance, since such matches were hardly better "
            f"wherever we could check, and with them {carried}."
            if max(shares) == 0
            else f"Nothing supports the other {guesses}, nor {carried}."
        )
    else:
        known += "."
        advice = "Rows without a known partner were left without one."
        headline = headline if max(shares) else "No rows are matched"
    return Verdict(level, headline, [what, known, advice])


def _quoted(views: list[ViewFindings]) -> str:
    """Names of views, as in: views “a”, “b” and “c”."""
    return _listed([f"“{view.name}”" for view in views])


def _with_trust(views: list[ViewFindings]) -> str:
    """Names of views, as in: views “a” (trust 97 %) and “b” (trust 80 %)."""
    rests = {"structure": "", "known pairs": ", from known pairs"}
    return _listed(
        [
            f"“{view.name}” (trust {percent(view.trust)}{rests[view.basis]})"
            for view in views
        ]
    )


def _listed(names: list[str]) -> str:
    if len(names) == 1:
        return f"view {names[0]}"
    return f"views {', '.join(names[:-1])} and {names[-1]}"


def _number(count: int, one: str, many: str | None = None) -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"
