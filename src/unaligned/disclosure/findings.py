"""Results of an audit, as plain data and in words."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from scipy.stats import poisson

from unaligned.alignment import TRUSTED

__all__ = ["Audit", "ColumnRisk", "Level"]

ODDS = 0.01  # level of the test that more rows are found than by chance
MOST_COLUMNS = 5  # that the summary names


class Level(NamedTuple):
    """Matches with at least some confidence."""

    confidence: float
    n_rows: int
    """Rows that an attacker would name with that confidence."""
    n_right: float | None
    """How many of them are right; None if not known."""


class ColumnRisk(NamedTuple):
    """What a released column reveals."""

    name: str
    explained: float
    """Share of its variance that follows from the original table."""
    share_without: float
    """Share of rows found without it, by a regression of the other columns."""


@dataclass(frozen=True)
class Audit:
    """How many rows of a released table could be found again.

    Give it to ``print``, or take what you need.
    """

    n_rows: int
    """Number of released rows; only those in both tables, if that is known."""
    truth: str
    """"key", "same order" or "unknown": how the right rows are known."""
    share: float
    """Share of released rows found again. An estimate where the truth is unknown."""
    by_search: float | None
    """Share that a search without known pairs finds; None if the truth is unknown."""
    trust: float
    """Trust of `unaligned.align` in the matches of that search."""
    levels: list[Level]
    """Matches by confidence, of the better of both attacks."""
    linked: float | None
    """Share found by an attacker who knows how the columns of both tables relate; None
    if the truth is unknown."""
    columns: list[ColumnRisk]
    """Released columns; first those without which fewest rows are found."""
    share_with_all: float
    """Share of rows found with all columns, for comparison."""
    preparation: list[str] = field(default_factory=list)
    """What was done to the columns of either table."""

    @property
    def n_found(self) -> int:
        """Rows found again."""
        return round(self.share * self.n_rows)

    @property
    def above_chance(self) -> bool:
        """Whether more rows are found than by a random matching (about one)."""
        return bool(poisson.sf(self.n_found - 1, 1) < ODDS)

    def sentences(self) -> list[str]:
        """Summarise the results in sentences, the warning first.

        Returns
        -------
        list of str
        """
        counted = f"{self.n_found:,} of {self.n_rows:,} rows ({self.share:.0%})"
        if self.truth == "unknown":
            counted = f"an estimated {counted}"
        doubtful = self.truth == "unknown" and self.trust < TRUSTED
        if self.above_chance:
            said = [
                f"Warning: this table {'may not be' if doubtful else 'is not'} "
                f"anonymous. From the geometry of its numbers alone, {counted} can be "
                "found again in the original."
            ]
        else:
            said = [
                f"No more rows than by chance were found again: {counted}. That says "
                "nothing of other attacks."
            ]
        if self.by_search is not None:
            said.append(
                f"A search from nothing finds {self.by_search:.0%}; the figure above "
                "is that of an attacker whose search begins well."
            )
        else:
            said.append(
                "The right rows are not known: this is the share of matches that a "
                "regression on the other matches finds again. Name a key, or say that "
                "rows are in the same order, to have them counted."
            )
        if doubtful:
            said.append(
                f"The test of the matches does not trust them (trust {self.trust:.2f})."
                " So the estimate says little: it is up to 45 % for tables of which "
                "hardly a row can be found, and too low where another search would "
                "succeed."
            )
        for level in self.levels:
            if level.n_rows:
                right = ""
                if level.n_right is not None:
                    right = f", and is right on {level.n_right / level.n_rows:.0%}"
                said.append(
                    f"With confidence {level.confidence:g} or more an attacker names "
                    f"{level.n_rows:,} rows{right}."
                )
        if self.linked is not None:
            said.append(
                "An attacker who knows how the columns of both tables relate finds "
                f"{self.linked:.0%}."
            )
        worst = [
            f"{column.name} ({column.share_without:.0%} without it)"
            for column in self.columns[:MOST_COLUMNS]
            if column.share_without < self.share_with_all
        ]
        if worst:
            said.append(f"What gives rows away most: {', '.join(worst)}.")
        return said

    def to_dict(self) -> dict[str, Any]:
        """Return all results as numbers, text, and lists of them.

        Returns
        -------
        dict
        """
        return {
            "rows": self.n_rows,
            "truth": self.truth,
            "found": self.n_found,
            "share": self.share,
            "above_chance": self.above_chance,
            "share_by_search": self.by_search,
            "trust": self.trust,
            "levels": [level._asdict() for level in self.levels],
            "share_if_columns_relate": self.linked,
            "columns": [column._asdict() for column in self.columns],
            "share_with_all_columns": self.share_with_all,
            "preparation": self.preparation,
            "sentences": self.sentences(),
        }

    def __str__(self) -> str:
        return "\n".join(self.sentences())
