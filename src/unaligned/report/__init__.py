"""One self-contained interactive page from any fitted estimator or alignment."""

import os
import webbrowser
from pathlib import Path
from typing import Any

from unaligned.report.findings import Findings
from unaligned.report.gathering import gather
from unaligned.report.inline import InlineReport
from unaligned.report.page import render, require_jinja2

__all__ = ["Findings", "InlineReport", "gather", "render", "write_report"]


def write_report(
    found: Any,
    path: str | os.PathLike[str] | None = None,
    Xs: Any = None,
    *,
    ids: Any = None,
    columns: Any = None,
    title: str | None = None,
    open_browser: bool = False,
    verbose: int = 0,
) -> Path | InlineReport:
    """Write the results as one HTML page that works offline.

    Parameters
    ----------
    found : fitted estimator, or Alignment found by `unaligned.align`
        An Alignment has no rows, so it needs ``Xs``.
    path : path, optional
        The file. It appears when it is complete; an existing one is replaced. Default:
        no file; the returned page is shown in a notebook.
    Xs : views, optional
        The views, in the form that `fit` took. The map of each view is then drawn from
        the view itself. None: from what the estimator kept of it, which the page
        names. The index of data frames names the rows. For views that
        `unaligned.prepare` made, the page lists what was done with the columns.
    ids : list or dict of sequences, optional
        Names of the rows: one sequence per view, or a dict by name of view.
    columns : dict, optional
        Further values to colour rows by: ``{name: values}`` with one array per view, or
        a dict of arrays by name of view. They do not change the results.
    title : str, optional
        Heading of the page.
    open_browser : bool, default=False
        Whether to show the page at once.
    verbose : int, default=0
        Whether to print a line per map.

    Returns
    -------
    pathlib.Path or InlineReport
        Where the page is, or the page.

    Examples
    --------
    >>> import os, tempfile
    >>> from unaligned import align
    >>> from unaligned.datasets import load_digits_views, unalign
    >>> from unaligned.report import write_report
    >>> digits = load_digits_views()
    >>> data = unalign([digits.Xs[0][:200], digits.Xs[3][:200]], random_state=0)
    >>> found = align(data.Xs, effort="quick", random_state=0)
    >>> path = os.path.join(tempfile.mkdtemp(), "digits.html")
    >>> write_report(found, path, data.Xs).name
    'digits.html'
    """
    require_jinja2()  # before the seconds that the maps take
    findings = gather(found, Xs, ids=ids, columns=columns, verbose=verbose)
    html = render(findings, title)
    page = InlineReport(html)
    if path is None:
        return page
    written = page.save(path)
    if open_browser:
        webbrowser.open(written.as_uri())
    return written
