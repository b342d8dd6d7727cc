"""How time and memory grow with the number of rows."""

import numpy as np

from unaligned.benchmark.cells import Results
from unaligned.benchmark.columns import Column, Table, Value
from unaligned.benchmark.plans import SCALING, SPEED
from unaligned.benchmark.protocol import SYNTHETIC
from unaligned.benchmark.tables import label_of

__all__ = ["exponent", "growth", "scaling_tables"]

SMALLEST = {"cpu_seconds": 0.05, "grown_mb": 20.0}  # below, overheads are all one sees
N_FITTED = 3  # largest sizes that an exponent is fitted to

Curve = list[tuple[int, float]]


def growth(results: Results, name: str, measurement: str) -> Curve:
    """Rows and a measurement of every size that a method was run on."""
    found = [
        (cell.rows, record[measurement])
        for cell, record in results
        if (cell.dataset, cell.method) == (SYNTHETIC, name)
        and cell.rows is not None
        and record.get(measurement) is not None
    ]
    return sorted(found)


def exponent(curve: Curve, smallest: float) -> float | None:
    """Exponent of growth: slope of the last points on logarithmic scales.

    Points below ``smallest`` show overheads, not growth, and are left out.

    Examples
    --------
    >>> exponent([(100, 0.001), (1000, 2.0), (2000, 8.0), (4000, 32.0)], 0.01)
    2.0
    """
    shown = [(n, value) for n, value in curve if value >= smallest][-N_FITTED:]
    if len(shown) < 2:
        return None
    n, value = np.log(np.array(shown, dtype=float)).T
    return round(float(np.polyfit(n, value, 1)[0]), 3)


def scaling_tables(results: Results) -> list[Table]:
    """Exponents of every method, and the speed-up over the straightforward version."""
    rows: list[list[Value]] = []
    for name in SCALING:
        seconds = growth(results, name, "cpu_seconds")
        if seconds:
            n, last = seconds[-1]
            memory = growth(results, name, "grown_mb")
            rows.append(
                [
                    label_of(name),
                    exponent(seconds, SMALLEST["cpu_seconds"]),
                    exponent(memory, SMALLEST["grown_mb"]),
                    n,
                    last,
                    memory[-1][1] if memory else None,
                    stopped_by(results, name, n),
                ]
            )
    if not rows:
        return []
    columns = (
        Column("method"),
        Column("time grows as n to the", 2),
        Column("memory grows as n to the", 2),
        Column("most rows run", 0),
        Column("CPU seconds there", 2),
        Column("memory there, MB", 0),
        Column("stopped by"),
    )
    notes = [
        "Three synthetic views of 64, 128 and 32 features, ten clusters, default "
        f"settings, one run. Exponents are fitted to the last {N_FITTED} sizes that "
        f"take {SMALLEST['cpu_seconds']:g} s ({SMALLEST['grown_mb']:g} MB) or more; "
        "memory is what the fit adds at its peak. PVC and MvCLN get two of the views "
        "and 1 % of the pairs."
    ]
    title = "Scaling: time and memory against the number of rows"
    return [Table("exponents", title, columns, rows, notes), *speed_up(results)]


def stopped_by(results: Results, name: str, n: int) -> str:
    """Tell why no larger size was run."""
    larger = [
        (cell.method, record["status"])
        for cell, record in results
        if cell.dataset == SYNTHETIC and (cell.rows or 0) > n
    ]
    ends = [status for method, status in larger if method == name]
    # Where others went on, the next size was not tried: it would have been too slow.
    return ends[0] if ends else "time" if larger else "–"


def speed_up(results: Results) -> list[Table]:
    """Fits of PAVuC beside the straightforward version of the same iterations."""
    ours, plain = (dict(growth(results, name, "cpu_seconds")) for name in SPEED)
    ours_mb, plain_mb = (dict(growth(results, name, "grown_mb")) for name in SPEED)
    rows: list[list[Value]] = [
        [n, ours[n], plain[n], plain[n] / ours[n], ours_mb.get(n), plain_mb.get(n)]
        for n in sorted(set(ours) & set(plain))
        if ours[n] > 0
    ]
    if not rows:
        return []
    columns = (
        Column("rows", 0),
        Column("PAVuC, CPU seconds", 2),
        Column("plain NumPy, CPU seconds", 2),
        Column("times faster", 1),
        Column("PAVuC, MB", 0),
        Column("plain NumPy, MB", 0),
    )
    notes = [
        "15 iterations each, k-means included in ours. Plain NumPy makes the n × n "
        "score and takes one argmax per row "
        "(`unaligned.benchmark.straightforward`)."
    ]
    title = "Scaling: PAVuC beside the straightforward version"
    return [Table("speed-up", title, columns, rows, notes)]
