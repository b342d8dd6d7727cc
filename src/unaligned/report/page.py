"""Page: findings as one HTML file without other files."""

import base64
import hashlib
from importlib.resources import files
from typing import Any

import numpy as np

from unaligned.alignment.text import percent
from unaligned.extras import import_extra
from unaligned.preparation.notes import names_of
from unaligned.report.curve import draw_curve, draw_evidence
from unaligned.report.findings import Findings
from unaligned.report.next_step import next_step
from unaligned.report.payload import to_json
from unaligned.report.verdict import judge, level_of, standing

__all__ = ["render", "require_jinja2"]

# In the order in which they build on each other.
SCRIPTS = (
    "data.js",
    "colours.js",
    "state.js",
    "raster.js",
    "map.js",
    "keyboard.js",
    "maps.js",
    "controls.js",
    "table.js",
)
MOST_SUSPECTS = 100  # known pairs to check that a page lists


def render(findings: Findings, title: str | None = None) -> str:
    """Render findings as HTML.

    Parameters
    ----------
    findings : Findings
    title : str, optional
        Heading of the page. Default: the method and the number of views.

    Returns
    -------
    str
        HTML. It loads nothing, and its content security policy allows no scripts but
        its own.
    """
    jinja2 = require_jinja2()
    from markupsafe import Markup

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("unaligned.report", "page"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = "{:,}".format
    environment.filters["decimal"] = "{:.2f}".format
    environment.filters["percent"] = percent
    script = _script()
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    heading = f"{findings.method} on {len(findings.views)} views"
    if len(findings.views) == 1:
        heading = f"{findings.method} on one view"
    return environment.get_template("report.html").render(
        title=title or heading,
        findings=findings,
        verdict=judge(findings),
        next_step=next_step(findings),
        suspects=findings.suspect_rows(MOST_SUSPECTS),
        standing=lambda view: standing(view, findings),
        level_of=level_of,
        names_of=names_of,
        unmatched=lambda view: [view.row_name(row) for row in view.unmatched],
        largest_weight=max((view.weight or 0 for view in findings.views), default=0),
        curve=_curve(findings),
        evidence_curve=_evidence_curve(findings),
        # Ours, or escaped already.
        style=Markup(_part("report.css")),
        script=Markup(script),
        script_digest=digest,
        payload=Markup(to_json(findings)),
    )


def require_jinja2() -> Any:
    """Import jinja2."""
    return import_extra("jinja2", "report", "A report")


def _part(name: str) -> str:
    return (files("unaligned.report") / "page" / name).read_text(encoding="utf-8")


def _script() -> str:
    """All scripts, in one scope."""
    body = "\n".join(_part(name) for name in SCRIPTS)
    return f'(() => {{\n"use strict";\n{body}\n}})();\n'


def _curve(findings: Findings) -> Any:
    objective = findings.objective
    if objective is None or len(objective) < 2:
        return None
    return draw_curve(np.asarray(objective, dtype=np.float64))


def _evidence_curve(findings: Findings) -> Any:
    evidence = findings.evidence
    if evidence is None or len(evidence.candidates) < 2:
        return None
    return draw_evidence(evidence)
