"""A figure of a report: its drawing, the numbers behind it, and its files."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any
from unittest.mock import patch

import matplotlib
import numpy as np
import polars
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Canvas
from numpy.typing import NDArray
from PIL import Image

from cosched_sim.reports.figures.style import INK, SVG_FONTS, rc
from cosched_sim.workload.traces.atomic import write_whole

_MEASURE = "_get_tick_boxes_siblings"  # of Axis; for each axis it measures the ticks of all that are aligned with it
PNG_DPI = 150
_TITLE_HEIGHT, _TITLE_LEFT, _TITLE_SIZE = 0.3, 0.08, 11  # inches, inches, points
# Left out, since these would differ with the time of day and the version of the library.
_NO_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))
_ID = re.compile(r'(\bid="|url\(#|href="#)')
_FONT = re.compile(r"(font[^:;\"]*:[^;\"]*)'DejaVu Sans'")
_PATH = re.compile(r'\bd="[^"]*"')
_DECIMALS = re.compile(r"(\.\d\d)\d+")  # the decimals of a point; more cannot be seen


@dataclass(frozen=True)
class Figure:
    """One figure: `draw` draws it on an empty canvas in the common style; `table` holds the numbers drawn.

    `name` is the stem of its files; `caption` says in one or two sentences what the figure shows, how it is measured,
    and the units; `size` is in inches.
    """

    name: str
    title: str
    caption: str
    table: polars.DataFrame
    draw: Callable[[Canvas], None]
    size: tuple[float, float] = (8.0, 3.2)

    def svg(self) -> str:
        """Return the drawing with its title, as the content of an SVG file."""
        prolog, drawn, _ = _drawn(self)
        return prolog + _titled(drawn, self)

    def __repr__(self) -> str:
        """Return its name and its title; the numbers fill screens."""
        return f"<Figure {self.name}: {self.title}>"

    def _repr_svg_(self) -> str:
        return self.svg()


def write_figure(figure: Figure, folder: Path) -> str:
    """Write NAME.svg, NAME.png and NAME.csv to `folder`, which must exist, and return the SVG for use inside a page.

    The files show the title. The returned SVG does not, since the page does; it has no XML prolog, ids that no other
    figure has, and a title and a description for screen readers. Equal figures give equal bytes. OSError passes
    through.
    """
    prolog, svg, pixels = _drawn(figure)
    write_whole(folder / f"{figure.name}.svg", prolog + _titled(svg, figure))
    png = io.BytesIO()
    Image.fromarray(pixels).save(png, "png", dpi=(PNG_DPI, PNG_DPI))
    write_whole(folder / f"{figure.name}.png", png.getvalue())
    write_whole(folder / f"{figure.name}.csv", figure.table.write_csv())
    return svg


def _drawn(figure: Figure) -> tuple[str, str, NDArray[np.uint8]]:
    """Return the XML prolog, the SVG element without the title, and the picture with it."""
    with matplotlib.rc_context(), measured_once():
        matplotlib.rcdefaults()  # ignore the user's matplotlibrc
        matplotlib.rcParams.update(rc(figure.name))
        canvas = Canvas(figsize=figure.size, layout="constrained")
        figure.draw(canvas)
        drawn = io.StringIO()
        canvas.savefig(drawn, format="svg", metadata=_NO_METADATA)
        canvas.set_layout_engine("none")  # the layout is done
        pixels = np.vstack((_pixels(_title(figure)), _pixels(canvas)))
    return *_accessible(drawn.getvalue(), figure), pixels


def _accessible(drawn: str, figure: Figure) -> tuple[str, str]:
    """Return the XML prolog and the SVG element with unique ids, a title and a description."""
    start = drawn.index("<svg")
    svg = _ID.sub(rf"\g<1>{figure.name}-", drawn[start:])
    svg = _FONT.sub(rf"\g<1>{SVG_FONTS}", svg)
    svg = _PATH.sub(lambda path: _DECIMALS.sub(r"\1", path[0]), svg)
    title, text = f"{figure.name}-title", f"{figure.name}-text"
    svg = svg.replace("<svg ", f'<svg role="img" aria-labelledby="{title} {text}" ', 1)
    words = f'\n <title id="{title}">{escape(figure.title)}</title>\n <desc id="{text}">{escape(figure.caption)}</desc>'
    opened = svg.index(">") + 1
    return drawn[:start], svg[:opened] + words + svg[opened:]


def _titled(svg: str, figure: Figure) -> str:
    """Return the SVG with its title above the drawing."""
    width, height = (72 * inches for inches in figure.size)
    top = 72 * _TITLE_HEIGHT
    svg = re.sub('height="[^"]*"', f'height="{height + top:g}pt"', svg, count=1)
    svg = re.sub('viewBox="[^"]*"', f'viewBox="0 {-top:g} {width:g} {height + top:g}"', svg, count=1)
    style = f"font-size: {_TITLE_SIZE}px; font-weight: bold; font-family: {SVG_FONTS}; fill: {INK}"
    words = (
        f' <rect x="0" y="{-top:g}" width="{width:g}" height="{top:g}" style="fill: #ffffff"/>\n'
        f' <text x="{72 * _TITLE_LEFT:g}" y="{-0.3 * top:g}" style="{style}">{escape(figure.title)}</text>\n'
    )
    end = svg.rindex("</svg>")
    return svg[:end] + words + svg[end:]


def _title(figure: Figure) -> Canvas:
    """Draw the title as a separate picture."""
    width = figure.size[0]
    canvas = Canvas(figsize=(width, _TITLE_HEIGHT))
    canvas.text(_TITLE_LEFT / width, 0.3, figure.title, fontsize=_TITLE_SIZE, fontweight="bold")
    return canvas


def _pixels(canvas: Canvas) -> NDArray[np.uint8]:
    canvas.set_dpi(PNG_DPI)
    agg = FigureCanvasAgg(canvas)
    agg.draw()  # type: ignore[no-untyped-call]
    return np.asarray(agg.buffer_rgba())  # type: ignore[no-untyped-call]


@contextmanager
def measured_once() -> Iterator[None]:
    """Let Matplotlib measure aligned axes in the block anew only when one of them has moved, or has other limits."""
    measure: Any = getattr(Axis, _MEASURE)
    last: dict[str, tuple[Any, Any]] = {}

    def measured(axis: Any, renderer: Any) -> Any:
        name = axis._get_axis_name()
        group = axis.get_figure(root=False)._align_label_groups.get(name)
        aligned = sorted(group.get_siblings(axis.axes), key=id) if group is not None else []
        if len(aligned) < 2:
            return measure(axis, renderer)
        places = [(axes, axes.get_position().bounds, axes.viewLim.bounds) for axes in aligned]
        present = renderer, axis.get_figure(root=True).dpi, places
        if name not in last or last[name][0] != present:
            last[name] = present, measure(axis, renderer)
        return last[name][1]

    with patch.object(Axis, _MEASURE, measured):
        yield
