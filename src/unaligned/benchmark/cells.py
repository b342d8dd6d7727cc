"""A cell: one fit that the evaluation needs; and what is known of those done.

Results are JSON lines, each written by one system call, so a run that is killed loses
the cells in flight and nothing else: reading skips a torn line, and the next run does
what is missing.
"""

import json
import operator
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from unaligned.json_lines import append_record, read_records

__all__ = ["Cell", "Results", "describe_setting"]


@dataclass(frozen=True)
class Cell:
    """One fit: data, method, setting, share of known pairs and shuffle.

    Examples
    --------
    >>> cell = Cell("Wiki", "LMVSC", {"alpha": 1.0}, shuffle=3)
    >>> Cell.of(json.loads(json.dumps(cell.record()))) == cell
    True
    """

    dataset: str
    method: str
    setting: dict[str, Any] = field(default_factory=dict)
    ratio: float = 0.0
    shuffle: int = 0
    views: tuple[int, ...] | None = None
    """Views that are used; None: all."""
    rows: int | None = None
    """Rows that are used; None: all."""
    measure: str = "scores"
    """``"scores"``, ``"trace"`` (of every iteration), ``"map"`` (t-SNE), ``"halves"``
    (views of different objects) or ``"rivals"`` (places of rows, and matches)."""

    @classmethod
    def of(cls, record: dict[str, Any]) -> "Cell":
        """Read the cell that a record is the result of.

        A record of anything else gets a ValueError.
        """
        for name, kinds in KINDS.items():
            value = record.get(name, ...)
            if isinstance(value, bool) or not isinstance(value, kinds):
                raise ValueError(f"{value!r} is no {name} of a cell")
        known = {name: record[name] for name in KINDS}
        if known["views"] is not None:
            known["views"] = tuple(map(operator.index, known["views"]))
        return cls(**known)

    def record(self) -> dict[str, Any]:
        """Give what is written of the cell itself."""
        return asdict(self)

    @cached_property
    def key(self) -> str:
        """The same for cells that ask for the same thing."""
        return json.dumps(self.record(), sort_keys=True)

    def __hash__(self) -> int:
        return hash(self.key)

    def __str__(self) -> str:
        parts = [self.dataset, self.method, describe_setting(self.setting)]
        if self.ratio:
            parts.append(f"ρ = {self.ratio:g}")
        if self.rows:
            parts.append(f"{self.rows} rows")
        return ", ".join([*parts, f"shuffle {self.shuffle}"])


def describe_setting(setting: dict[str, Any]) -> str:
    """Write a setting in one line.

    Examples
    --------
    >>> describe_setting({"alpha": 1.5, "mu": 0.001}), describe_setting({})
    ('alpha=1.5, mu=0.001', 'defaults')
    """
    if not setting:
        return "defaults"
    values = {
        name: f"{value:g}" if isinstance(value, float) else value
        for name, value in setting.items()
    }
    return ", ".join(f"{name}={value}" for name, value in values.items())


# What the fields of a cell are in JSON.
KINDS: dict[str, tuple[type, ...]] = {
    "dataset": (str,),
    "method": (str,),
    "setting": (dict,),
    "ratio": (float, int),
    "shuffle": (int,),
    "views": (list, tuple, type(None)),
    "rows": (int, type(None)),
    "measure": (str,),
}


class Results:
    """Results of cells, in a file of JSON lines or in memory only.

    Parameters
    ----------
    path : path, default=None
        File to read and to append to; None keeps results in memory.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self.path = None if path is None else Path(path)
        self.environments: dict[str, dict[str, Any]] = {}
        self._found: dict[str, tuple[Cell, dict[str, Any]]] = {}
        self._alike: dict[tuple[Any, ...], set[str]] = {}
        for record in self._records():
            self._take(record)

    def __len__(self) -> int:
        return len(self._found)

    def __iter__(self) -> Iterator[tuple[Cell, dict[str, Any]]]:
        return iter(self._found.values())

    def get(self, cell: Cell) -> dict[str, Any] | None:
        """Newest record of a cell, if there is one."""
        return self._found.get(cell.key, (cell, None))[1]

    def like(self, cell: Cell) -> list[tuple[Cell, dict[str, Any]]]:
        """Cells that differ from one in setting and shuffle only, with their records.

        In the order of the shuffles.
        """
        found = [self._found[key] for key in self._alike.get(_kind(cell), ())]
        return sorted(found, key=lambda one: (one[0].shuffle, one[0].key))

    def add(self, record: dict[str, Any]) -> None:
        """Keep a record, and append it to the file."""
        self._take(record)
        if self.path is None:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        append_record(self.path, record)

    def add_environment(self, name: str, environment: dict[str, Any]) -> None:
        """Keep the description of a machine, once."""
        if name not in self.environments:
            self.add({"environment": name, "is": environment})

    def _take(self, record: dict[str, Any]) -> None:
        if "is" in record:
            self.environments[str(record["environment"])] = record["is"]
        else:
            cell = Cell.of(record)
            self._found[cell.key] = cell, record
            self._alike.setdefault(_kind(cell), set()).add(cell.key)

    def _records(self) -> Iterator[dict[str, Any]]:
        """Read the file, whatever else has got into it."""
        if self.path is None:
            return
        for record in read_records(self.path):
            # Where it is none of ours, its cell is done again.
            with suppress(ValueError, TypeError, RecursionError):
                yield _check_record(record)


def _check_record(record: Any) -> dict[str, Any]:
    """Complain about what is neither the result of a cell nor a machine."""
    if not isinstance(record, dict):
        raise TypeError(f"{record!r} is no record")
    if "is" not in record:
        Cell.of(record)
        if not isinstance(record.get("status"), str):
            raise ValueError("the record has no status")
    elif not (isinstance(record["is"], dict) and "environment" in record):
        raise ValueError("the record is of no machine")
    return record


def _kind(cell: Cell) -> tuple[Any, ...]:
    """Tell what cells have in common that differ in setting and shuffle only."""
    return cell.dataset, cell.rows, cell.views, cell.method, cell.ratio, cell.measure
