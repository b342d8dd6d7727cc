"""A report in a notebook."""

import os
from html import escape
from pathlib import Path

from unaligned.persistence.drafts import whole_file

__all__ = ["InlineReport"]

HEIGHT = 800  # pixels, about one screen


class InlineReport:
    """A report as a frame in a notebook.

    Parameters
    ----------
    html : str
        The page.

    Examples
    --------
    >>> InlineReport("<p>Found</p>")
    InlineReport of 12 characters; write it to a file with save(path)
    """

    def __init__(self, html: str) -> None:
        self.html = html

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file, which appears when it is complete.

        Parameters
        ----------
        path : path

        Returns
        -------
        pathlib.Path
            Where the page is.
        """
        with whole_file(path) as file:
            file.write(self.html.encode("utf-8"))
        return Path(path).absolute()

    def __repr__(self) -> str:
        size = f"{len(self.html):,} characters"
        return f"InlineReport of {size}; write it to a file with save(path)"

    def _repr_html_(self) -> str:
        """Frame with the page, which can neither read nor change the notebook."""
        return (
            f'<iframe srcdoc="{escape(self.html)}" sandbox="allow-scripts '
            'allow-downloads" title="unaligned report" '
            f'style="width: 100%; height: {HEIGHT}px; border: 0"></iframe>'
        )
