"""Tables and drawings as one self-contained HTML file."""

import re
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from unaligned.benchmark.columns import Column, Spread, Table, Value, show
from unaligned.benchmark.pictures import INK, Picture
from unaligned.extras import import_extra

__all__ = ["Section", "render_page"]


@dataclass(frozen=True)
class Section:
    """Part of a page: tables and drawings under one heading."""

    name: str
    title: str
    intro: str
    tables: list[Table]
    pictures: list[Picture] = field(default_factory=list)


def render_page(title: str, lead: str, parts: list[Section], **about: Any) -> str:
    """Make one HTML file with everything in it; it loads nothing from elsewhere.

    Parameters
    ----------
    title, lead : str
        Heading, and a sentence below it.
    parts : list of Section
    **about
        ``how`` (paragraphs), ``rules``, ``summary``, ``failures``, ``environments``.
    """
    jinja2 = import_extra("jinja2", "report", "The page")
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"code": code, "svg": inline_svg}
    text = files("unaligned.benchmark").joinpath("page.html.jinja").read_text("utf-8")
    return environment.from_string(text).render(
        title=title, lead=lead, sections=parts, show=show, sort_key=sort_key, **about
    )


def code(text: str) -> Any:
    """Escape a text and mark what is between backticks as code."""
    from markupsafe import Markup, escape

    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def inline_svg(picture: Picture) -> Any:
    """Drawing that takes the colour of the text around it, and says what it shows."""
    from markupsafe import Markup, escape

    svg = picture.svg.replace(INK, "currentColor")
    # Names inside a drawing must be its own, and given once, in the whole document.
    svg = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{picture.name}-", svg)
    given: set[str] = set()
    svg = re.sub(r' id="[^"]*"', lambda name: _once(name[0], given), svg)
    label = escape(f"{picture.title}. {picture.caption}")
    return Markup(svg.replace("<svg", f'<svg role="img" aria-label="{label}"', 1))


def _once(text: str, given: set[str]) -> str:
    """Give a text the first time only."""
    if text in given:
        return ""
    given.add(text)
    return text


def sort_key(column: Column, value: Value) -> str:
    """Tell what a browser sorts a cell by."""
    if isinstance(value, Spread):
        value = value.mean
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, (int, float)) else str(value)
