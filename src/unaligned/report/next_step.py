"""One thing to try next if a view was refused, given what was tried."""

from dataclasses import dataclass
from math import isnan

from unaligned.report.findings import Findings, ViewFindings
from unaligned.savuc.trust import FEWEST_DIRECTIONS

__all__ = ["NextStep", "next_step"]

NARROW = 20  # columns; the study of narrow tables ends there
ENOUGH_RIGHT = 0.8  # share of matches that are expected to be right
LONGER = {"quick": "normal", "normal": "thorough"}


@dataclass(frozen=True)
class NextStep:
    """Something to try."""

    text: str
    """A sentence."""
    python: str = ""
    """How to do it in Python, if that helps."""
    command: str = ""
    """What to add to the command, if that helps."""

    def for_command(self) -> str:
        """Sentence for users of the command line."""
        return f"{self.text} ({self.command})." if self.command else f"{self.text}."


WITHOUT_CATEGORIES = NextStep(
    "Leave out categories, which can hide the relations between other columns",
    'prepare(table, categorical="drop")',
    "--categorical drop",
)


def next_step(findings: Findings) -> NextStep | None:
    """Suggest what to try next; None if every view is aligned or partners are known.

    Where matches are doubtful and a table has categories, that is to leave these out.

    Parameters
    ----------
    findings : Findings

    Returns
    -------
    NextStep or None

    Notes
    -----
    The first of these that was not tried: a method that tests its matches, more columns
    where matches in so few cannot be tested, the transformation of counts, narrow
    tables without their categories, a longer search, columns that were left out, known
    pairs, more pairs.
    """
    if any(view.verdict == "untested" and view.known < 1 for view in findings.others):
        return NextStep(
            "Use SAVuC, which tests its matches and refuses those it cannot trust",
            "SAVuC(...)",
            "--method SAVuC",
        )
    refused = [view for view in findings.others if _is_refused(view, findings)]
    concerned = [findings.views[findings.template], *refused]
    if not refused:
        doubtful = [view for view in findings.others if _is_doubtful(view)]
        has_categories = any(map(_has_categories, [*concerned, *doubtful]))
        return WITHOUT_CATEGORIES if doubtful and has_categories else None
    too_narrow = [view for view in concerned if view.n_features < FEWEST_DIRECTIONS]
    if too_narrow:
        return NextStep(
            f"Bring more columns of “{too_narrow[0].name}”: it has "
            f"{too_narrow[0].n_features}, and matches in fewer than "
            f"{FEWEST_DIRECTIONS} cannot be tested"
        )
    if any(view.prepared and view.prepared.raw_counts for view in concerned):
        return NextStep(
            "Let counts be normalised",
            'prepare(table, transform="auto")',
            "--transform auto",
        )
    if any(map(_has_categories, concerned)):
        return WITHOUT_CATEGORIES
    if (effort := findings.effort) is None or effort in LONGER:
        longer = LONGER[effort or "normal"]
        return NextStep("Search longer", f'effort="{longer}"', f"--effort {longer}")
    names = " and ".join(f"“{view.name}”" for view in concerned[:2])
    dated = [view for view in concerned if _dates_of_narrow(view)]
    if dated:
        columns = ", ".join(_dates_of_narrow(dated[0])[:3])
        return NextStep(
            f"Use the dates of “{dated[0].name}”, which were left out ({columns})",
            'prepare(table, dates="number")',
            "--dates number",
        )
    if not any(view.known for view in refused):
        return NextStep(
            f"Name some rows of {names} that you know to belong together",
            "aligned={(0, 1): pairs}",
            "--pairs pairs.csv",
        )
    n_known = max(view.n_matched for view in refused)
    return NextStep(
        f"Name more pairs of {names} than the {n_known:,} that are known, or bring "
        "columns that describe the same properties in both"
    )


def _is_refused(view: ViewFindings, findings: Findings) -> bool:
    tested = view.verdict == "none" and not isnan(view.trust)
    return tested and not findings.is_apart(view)


def _is_doubtful(view: ViewFindings) -> bool:
    """Whether a view is matched, but more than one match in five may be wrong."""
    matched = view.verdict == "objects" and view.n_matched > 0
    return matched and view.expected_right < ENOUGH_RIGHT * view.n_matched


def _has_categories(view: ViewFindings) -> bool:
    """Whether a table has categories beside few columns of numbers."""
    notes = [] if view.prepared is None else view.prepared.notes
    made = [note for note in notes if note.why.startswith("categories, ")]
    n_numbers = sum(note.action != "dropped" for note in notes) - len(made)
    return bool(made) and FEWEST_DIRECTIONS <= n_numbers <= NARROW


def _dates_of_narrow(view: ViewFindings) -> list[str]:
    """Dates of a narrow table that were left out."""
    if view.prepared is None or view.n_features > NARROW:
        return []
    return [
        note.column
        for note in view.prepared.notes
        if note.action == "dropped" and note.why.startswith("dates")
    ]
