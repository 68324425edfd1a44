"""A report: one self-contained HTML file, and a folder of its figures as SVG, PNG and CSV.

The page is made from plain values; everything in it is escaped. Its security policy forbids all requests.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from cosched import look
from cosched_sim.reports.figures.figure import Figure, write_figure
from cosched_sim.workload.traces.atomic import write_whole

REPORT, FIGURES = "report.html", "figures"  # in a run's folder
HERE = Path(__file__).parent
TEMPLATE, STYLES = "report.html.j2", ("report.css", "gantt/chart.css")


@dataclass(frozen=True, slots=True)
class Cell:
    """A table's cell with more than text: a check that holds or not (`good`), or a `link` relative to the page."""

    text: str
    good: bool | None = None
    link: str | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """A table: the first column is the heading of each row, the others are right-aligned numbers.

    `words`: the others are text, left-aligned and wrapped.
    """

    title: str
    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[str | Cell]]
    words: bool = False


@dataclass(frozen=True, slots=True)
class Tile:
    """One of the main numbers, in large type; `note` is a line in small type below it."""

    value: str
    label: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Widget:
    """An interactive figure; `still` replaces it in print and in browsers without scripts.

    `html` is trusted and takes the place of the still. N is the name of the still: the script finds `html` in the
    element with id N and `data` (JSON) in the one with id N-data, and shows `html` by removing `hidden` from it.
    """

    still: Figure
    html: str
    script: str
    data: Any


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a page: `text` (paragraphs separated by blank lines), widgets, figures, tables, in this order."""

    title: str
    text: str = ""
    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()
    widgets: Sequence[Widget] = ()


@dataclass(frozen=True, slots=True)
class Page:
    """A whole report. `first` is what one reads first; `facts` say what was run, `tiles` what the results are.

    The former two are names with text. It was made by `command` with `version` of cosched.
    """

    title: str
    subtitle: str
    command: str
    version: str
    facts: Sequence[tuple[str, str]]
    sections: Sequence[Section]
    tiles: Sequence[Tile] = ()
    first: Sequence[tuple[str, str]] = ()


def write_page(page: Page, folder: Path) -> Path:
    """Write report.html and figures/NAME.{svg,png,csv} to an existing `folder`; return the page's path; OSError."""
    figures = [figure for section in page.sections for figure in section.figures]
    figures += [widget.still for section in page.sections for widget in section.widgets]
    if figures:
        (folder / FIGURES).mkdir(exist_ok=True)
    drawn = {figure.name: (figure, Markup(write_figure(figure, folder / FIGURES))) for figure in figures}
    html = _render(page, drawn)
    write_whole(folder / REPORT, html.encode(errors="replace"))  # a command line may have bytes that are not UTF-8
    return folder / REPORT


def _render(page: Page, drawn: dict[str, tuple[Figure, Markup]]) -> str:
    """Return the page with the SVG of each figure, by its name."""
    widgets = [widget for section in page.sections for widget in section.widgets]
    scripts = list(dict.fromkeys(widget.script for widget in widgets))
    template = environment().get_template(TEMPLATE)
    return template.render(
        page=page,
        drawn=drawn,
        figures=FIGURES,
        style=Markup("".join((look.style(), *((HERE / name).read_text() for name in STYLES)))),
        scripts=[Markup(script) for script in scripts],
        policy=_policy(scripts),
    )


def environment() -> Environment:
    """Return the environment that renders the templates of this folder and escapes their values."""
    found = Environment(
        loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    found.filters.update(paragraphs=_paragraphs, json=_json)
    return found


def _policy(scripts: Iterable[str]) -> str:
    """Return the page's Content-Security-Policy: no requests, no scripts but its own."""
    digests = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests) or "'none'"
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _paragraphs(text: str) -> list[str]:
    return [paragraph.strip() for paragraph in text.split("\n\n") if paragraph.strip()]


def _json(value: Any) -> Markup:
    """Return JSON that is safe inside a script element, whatever it contains."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))
