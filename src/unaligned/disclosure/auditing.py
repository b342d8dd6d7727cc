"""``audit``: how many rows of an anonymised table can be found again."""

from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state

from unaligned.alignment import TRUSTED
from unaligned.disclosure.attack import Attack, Matches, prepare_attack
from unaligned.disclosure.findings import Audit, ColumnRisk, Level
from unaligned.disclosure.giveaway import Giveaway, find_giveaway
from unaligned.known_pairs import pairs_by_name
from unaligned.matrices import as_matrix
from unaligned.preparation import Prepared, prepare
from unaligned.savuc.config import Settings, settings_of
from unaligned.savuc.trust import FEWEST_DIRECTIONS

__all__ = ["audit"]

Indices = NDArray[np.intp]

LEVELS = (0.9, 0.5)
N_SEARCHES = 3  # without a trusted result, before the attack gives up. Cost


def audit(
    original: Any,
    released: Any,
    *,
    key: str | None = None,
    same_order: bool = False,
    effort: str | Settings = "normal",
    random_state: Any = 0,
) -> Audit:
    """Find out how many rows of a released table can be found again in another.

    Parameters
    ----------
    original : data frame, 2-D array, FileView or Prepared
        What an attacker may know of the same people or things. Its columns need not be
        those of the released table.
    released : data frame, 2-D array, FileView or Prepared
        The table that is, or will be, released without names.
    key : str, default=None
        Column of both tables that says which rows are the same. The attack does not
        use it.
    same_order : bool, default=False
        Whether row r of both tables is the same.
    effort : {"quick", "normal", "thorough"} or Settings, default="normal"
        How hard the attacker searches.
    random_state : int, RandomState instance or None, default=0

    Returns
    -------
    Audit
        ``share`` of rows that are found again, ``levels`` of confidence, ``columns``
        by which rows are found; ``print`` it for a summary in words.

    Notes
    -----
    The attack is the search of `unaligned.align`. Its matches count even if the test
    refuses them, because an attacker may use them. A search whose result is not trusted
    is repeated, up to three searches in all, and the most trusted result counts. If the
    right rows are known, a second attack starts from them, which is the best that a
    search can do. The better attack counts, and its right matches are counted.

    If they are not known, the share is estimated by the mean confidence of the
    matches. For a trusted search that is near the share that can be found. Otherwise do
    not rely on the estimate.

    A small share does not prove that a table is safe: the attack uses linear relations
    only, and no names, rare categories or outside knowledge.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from unaligned import audit
    >>> table = load_breast_cancer(as_frame=True).data
    >>> known = table.filter(like="worst")
    >>> found = audit(known, table.filter(like="mean"), same_order=True)
    >>> 0.5 < found.share < 0.8, found.above_chance
    (True, True)
    >>> print(found.sentences()[0][:37])
    Warning: this table is not anonymous.
    """
    if key is not None and same_order:
        raise ValueError("Give key or same_order=True, not both: they contradict.")
    rng = check_random_state(random_state)
    tables = [_prepared(table, key) for table in (original, released)]
    pairs = _true_pairs(tables, key, same_order)
    views = [
        as_matrix(_dense(table), f"the {name} table")
        for name, table in zip(("original", "released"), tables, strict=True)
    ]
    if pairs is not None:
        views[1], pairs = _shuffled(views[1], pairs, rng)
    attack = prepare_attack(views[0], views[1], settings_of(effort), rng)
    if min(view.whitened.shape[1] for view in attack.views) < FEWEST_DIRECTIONS:
        (n, d), (m, e) = (view.shape for view in views)
        raise ValueError(
            f"The tables have {d} and {e} columns to use, and {n} and {m} rows; the "
            f"attack needs {FEWEST_DIRECTIONS} columns of each, and more rows than "
            "that."
        )
    found, trust = _best_search(attack, rng)
    by_search = None
    if pairs is not None:
        share = by_search = _share_right(found, pairs)
        refined = attack.from_truth(pairs, rng)
        if (of_refined := _share_right(refined, pairs)) > share:
            found, share = refined, of_refined
    giveaway = _giveaway(views, found, pairs, rng)
    return Audit(
        n_rows=len(views[1]) if pairs is None else len(pairs),
        truth=_how(key, same_order),
        share=_share_expected(found, len(views[1])) if pairs is None else share,
        by_search=by_search,
        trust=trust,
        levels=[_level(found, level, pairs) for level in LEVELS],
        linked=None if pairs is None else giveaway.linked,
        columns=_risks(tables[1], giveaway),
        share_with_all=giveaway.linked,
        preparation=[table.summary() for table in tables],
    )


def _best_search(attack: Attack, rng: np.random.RandomState) -> tuple[Matches, float]:
    """Search until the result is trusted, and take the most trusted one.

    Matches that were found and tested before are not tested again until they pass.
    """
    tried: list[tuple[Matches, float]] = []
    for _ in range(N_SEARCHES):
        found, trust = attack.search(rng)
        if not any(np.mean(found.partner == old.partner) > 0.5 for old, _ in tried):
            tried.append((found, trust))
            if trust >= TRUSTED:
                break
    return max(tried, key=itemgetter(1))


def _shuffled(
    released: Any, pairs: Indices, rng: np.random.RandomState
) -> tuple[Any, Indices]:
    """Put the released rows in a random order.

    Of several equal rows the first is matched, and an attacker does not know the order.
    """
    order = rng.permutation(len(released))
    return released[order], np.column_stack(
        [pairs[:, 0], np.argsort(order)[pairs[:, 1]]]
    )


def _how(key: str | None, same_order: bool) -> str:
    """Say how the right rows are known."""
    if same_order:
        return "same order"
    return "unknown" if key is None else "key"


def _prepared(table: Any, key: str | None) -> Prepared:
    if isinstance(table, Prepared):
        return table
    return (
        prepare(table, id_column=key) if hasattr(table, "columns") else prepare(table)
    )


def _dense(table: Prepared) -> Any:
    return table.X.toarray() if sparse.issparse(table.X) else table.X


def _true_pairs(
    tables: list[Prepared], key: str | None, same_order: bool
) -> Indices | None:
    """Rows of both tables that are the same, in two columns; None if not known."""
    if same_order:
        sizes = [table.shape[0] for table in tables]
        if len(set(sizes)) > 1:
            raise ValueError(
                f"The tables have {sizes[0]} and {sizes[1]} rows, so they cannot be in "
                "the same order. Name a key."
            )
        return np.column_stack([np.arange(sizes[0])] * 2)
    if key is None:
        return None
    names = [table.row_ids for table in tables]
    if names[0] is None or names[1] is None:
        raise ValueError(f"key={key!r} names no column with ids in both tables.")
    pairs = pairs_by_name(names[0], names[1])
    if not len(pairs):
        raise ValueError(f"No value of the key {key!r} occurs in both tables.")
    return pairs


def _share_expected(found: Matches, n_released: int) -> float:
    """Share of the released rows whose match is expected to be right."""
    return float(found.confidence.sum() / n_released)


def _share_right(found: Matches, pairs: Indices) -> float:
    """Share of true pairs that were found."""
    return float(np.mean(found.partner[pairs[:, 0]] == pairs[:, 1]))


def _level(found: Matches, level: float, pairs: Indices | None) -> Level:
    """Count matches with at least some confidence, and the right ones among them."""
    sure = (found.confidence >= level) & (found.partner >= 0)
    if pairs is None:
        return Level(level, int(sure.sum()), None)
    right = found.partner[pairs[:, 0]] == pairs[:, 1]
    return Level(level, int(sure.sum()), int(np.sum(right & sure[pairs[:, 0]])))


def _giveaway(
    views: list[Any],
    found: Matches,
    pairs: Indices | None,
    rng: np.random.RandomState,
) -> Giveaway:
    """Find out which columns identify rows, by true pairs or by matches."""
    if pairs is None:
        pairs = found.pairs
        weights = found.confidence[pairs[:, 0]]
    else:
        weights = np.ones(len(pairs))
    return find_giveaway(views[0][pairs[:, 0]], views[1][pairs[:, 1]], weights, rng)


def _risks(released: Prepared, giveaway: Giveaway) -> list[ColumnRisk]:
    """List the columns; first those without which fewest rows are found."""
    names = released.feature_names or [f"column {i}" for i in range(released.shape[1])]
    figures = zip(
        names, giveaway.explained.tolist(), giveaway.without.tolist(), strict=True
    )
    return sorted(map(ColumnRisk._make, figures), key=lambda risk: risk.share_without)
