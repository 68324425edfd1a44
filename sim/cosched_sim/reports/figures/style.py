"""The common style of all figures: colours, hatches and line styles, fonts, time axes.

Colours are those of Okabe and Ito ("Color Universal Design", 2008), which colour-blind people can distinguish. Colours
used side by side also differ in lightness and in hatch or line style, for grey print.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes

BLUE = "#0072B2"
SKY = "#56B4E9"
GREEN = "#009E73"
ORANGE = "#E69F00"
VERMILION = "#D55E00"
GREY = "#8C8C8C"
PALE = "#ECECEC"
INK = "#222222"  # text, axes, outlines

# Widths are measured in DejaVu Sans, the widest of these; in the other fonts text only gets narrower.
SVG_FONTS = "'DejaVu Sans', Verdana, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif"


@dataclass(frozen=True, slots=True)
class Look:
    """How one thing looks as an area or a bar (colour, hatch) and as a line (colour, line style, marker)."""

    colour: str
    hatch: str = ""
    line: str | tuple[float, tuple[float, ...]] = "-"
    marker: str = "o"

    @property
    def area(self) -> dict[str, Any]:
        """Keyword arguments of an area or bar."""
        return {"facecolor": self.colour, "hatch": self.hatch, "edgecolor": INK, "linewidth": 0.0}

    @property
    def bar(self) -> dict[str, Any]:
        """Keyword arguments of an outlined bar."""
        return {**self.area, "linewidth": 0.5}

    @property
    def curve(self) -> dict[str, Any]:
        """Keyword arguments of a line without markers."""
        return {"color": self.colour, "linestyle": self.line}


STATES = {"running": Look(SKY), "held": Look(VERMILION, "////"), "idle": Look("#FFFFFF"), "down": Look(GREY, "xxxx")}
"""States of nodes."""

SCHEMES = {
    "none": Look(PALE, "", ":", "s"),
    "HH": Look(VERMILION, "////", "-", "o"),
    "HY": Look(ORANGE, "", "--", "^"),
    "YH": Look(SKY, "\\\\\\\\", "-.", "v"),
    "YY": Look(BLUE, "", (0, (6, 1, 1, 1, 1, 1)), "D"),
}
"""Combinations of the domains' schemes."""

GROUPS = {
    "all": Look(INK, "", "-", "o"),
    "paired": Look(VERMILION, "////", "--", "s"),
    "unpaired": Look(BLUE, "", "-.", "D"),
}
"""Groups of jobs."""


def rc(salt: str) -> dict[Any, Any]:
    """Return Matplotlib's settings for one figure; `salt` makes the ids inside its SVG unique and reproducible."""
    return {
        "svg.fonttype": "none",
        "svg.hashsalt": salt,
        "font.family": "DejaVu Sans",
        "font.size": 9,
        "axes.titlesize": 9.5,
        "axes.titleweight": "bold",
        "axes.titlelocation": "left",
        "axes.labelsize": 9,
        "axes.edgecolor": INK,
        "axes.labelcolor": INK,
        "axes.linewidth": 0.7,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.axisbelow": True,
        "axes.grid": True,
        "grid.color": "#D0D0D0",
        "grid.linewidth": 0.5,
        "text.parse_math": False,
        "text.color": INK,
        "xtick.color": INK,
        "ytick.color": INK,
        "xtick.labelsize": 8.5,
        "ytick.labelsize": 8.5,
        "legend.fontsize": 8.5,
        "legend.framealpha": 0.9,
        "legend.edgecolor": "none",
        "lines.linewidth": 1.5,
        "lines.markersize": 5,
        "hatch.linewidth": 0.6,
        "path.simplify": True,
        "agg.path.chunksize": 0,
    }


DOMAINS = (
    Look(VERMILION, "", "-", "s"),
    Look(BLUE, "", "--", "o"),
    Look(GREEN, "", "-.", "^"),
    Look(INK, "", ":", "D"),
)
"""Policy domains that share a panel; taken in turn."""

_UNITS = ((2 * 86_400, 86_400, "days"), (2 * 3_600, 3_600, "hours"), (2 * 60, 60, "minutes"), (0, 1, "seconds"))


@dataclass(frozen=True, slots=True)
class TimeAxis:
    """Trace times from `first` to `last` (s) in a suitable unit.

    They count from the trace's time 0, or from `first` if that is far from 0, as in a log with calendar times.
    """

    first: int
    last: int

    @property
    def unit(self) -> tuple[int, str]:
        """The unit's length in seconds, and its name."""
        return next((size, name) for least, size, name in _UNITS if self.last - self.first >= least)

    @property
    def origin(self) -> int:
        """The 0 of the axis, in trace seconds."""
        return 0 if 0 <= self.first <= 2 * (self.last - self.first) else self.first

    def place(self, times: Any) -> Any:
        """Convert trace seconds (a number or an array) to places on the axis."""
        return (times - self.origin) / self.unit[0]

    def label(self, axes: Axes, first: int | None = None, last: int | None = None) -> None:
        """Label a horizontal axis and limit it to the span, or to other trace times."""
        since = "the first submission" if self.origin else "the start of the trace"
        axes.set_xlabel(f"{self.unit[1]} since {since}")
        left = self.place(self.first if first is None else first)
        right = self.place(self.last if last is None else last)
        axes.set_xlim(left, right if right > left else left + 1)
