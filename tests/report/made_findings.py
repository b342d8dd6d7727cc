"""Findings made by hand: tests know where every row is and whom it belongs to."""

from dataclasses import replace

import numpy as np

from unaligned.report.findings import Findings, Parameter, ViewFindings
from unaligned.report.rows import Column

EVIL = "</script><img src=x onerror=window.hacked=1>"
N = 25


def make_findings(**changes):
    """Three views of 25 rows on a 5 × 5 lattice: two aligned, the third refused.

    Row r of the template belongs to row 24 - r of the second view, which lies at the
    opposite side of the lattice. Confidence rises with the row of the template; the
    last five rows have no partner.
    """
    across, up = np.meshgrid(np.linspace(-0.7, 0.7, 5), np.linspace(-0.7, 0.7, 5))
    lattice = np.column_stack([across.ravel(), up.ravel()]).astype(np.float32)
    rows = np.arange(N)
    labels = rows % 3
    nobody = np.full(N, -1)
    matched = np.where(rows < 20, N - 1 - rows, -1)
    confidence = np.where(rows < 20, (rows + 1) / N, 0.0)
    ids = [f"cell {row}" for row in rows]
    ids[0], ids[1], ids[2] = "=1+1", EVIL, 'a "quoted", name'
    own = {
        "coordinates": lattice,
        "weight": None,
        "ids": None,
        "basis": "structure",
    }
    views = [
        ViewFindings(
            name="rna",
            n_features=5,
            labels=labels,
            shares_clusters=True,
            partners=rows,
            confidence=np.ones(N),
            verdict="objects",
            trust=1.0,
            known=1.0,
            **own | {"ids": ids},
        ),
        ViewFindings(
            name="<b>atac</b>",
            n_features=4,
            labels=labels[::-1],
            shares_clusters=True,
            partners=matched,
            confidence=confidence,
            verdict="objects",
            trust=0.97,
            known=0.0,
            **own,
        ),
        ViewFindings(
            name="protein",
            n_features=6,
            labels=rows % 2,
            shares_clusters=False,
            partners=nobody,
            confidence=np.zeros(N),
            verdict="none",
            trust=0.1,
            known=0.0,
            **own,
        ),
    ]
    findings = Findings(
        method="SAVuC",
        views=views,
        template=0,
        maps_show="the views",
        columns=[
            Column("batch", [rows % 2, rows % 2, None], ["a", EVIL]),
            Column("depth", [rows.astype(np.float32)] * 3, None),
        ],
        objective=None,
        n_iter=1,
        converged=True,
        parameters=[Parameter("n_clusters", "3", False)],
        versions={"unaligned": "0", "python": "3"},
        citation=None,
    )
    return replace(findings, **changes)
