"""A schedule as a picture: where the data lie, and how long each machine computes and exchanges."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from cosched.planning.application import Box
from cosched.planning.grid import Machine
from cosched.planning.search import Schedule

_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999")  # Okabe and Ito
_EXCHANGING = "#444444"
_SQUARE, _GAP, _NAMES, _BARS, _LINE = 400, 30, 210, 300, 18  # pixels


def picture(schedule: Schedule, title: str, unit: str) -> str:
    """Return it as an SVG file. Machines of one site have one colour; `unit` is that of shares, in plural."""
    map = schedule.map
    colours = {machine: _COLOURS[nth % len(_COLOURS)] for nth, site in enumerate(schedule.sites) for machine in site}
    height = max(_SQUARE, _LINE * len(map.machines)) + 90
    width = _SQUARE + _NAMES + _BARS + 4 * _GAP
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"',
        '    font-family="sans-serif" font-size="12">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text x="{_GAP}" y="30" font-size="15">{escape(title)}</text>',
        *_boxes(schedule, colours),
        *_bars(schedule, colours, unit),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _boxes(schedule: Schedule, colours: dict[Machine, str]) -> Iterator[str]:
    """Yield the data set as a square of boxes; without any, shares lie in strips."""
    boxes = schedule.map.boxes or _in_strips(schedule.map.shares)
    size = max(box.top + box.height for box in boxes), max(box.left + box.width for box in boxes)
    down, right = _SQUARE / size[0], _SQUARE / size[1]
    for machine, box in zip(schedule.map.machines, boxes, strict=True):
        yield (
            f'<rect x="{_GAP + box.left * right:.2f}" y="{50 + box.top * down:.2f}" width="{box.width * right:.2f}" '
            f'height="{box.height * down:.2f}" fill="{colours[machine]}" stroke="#ffffff">'
            f"<title>{escape(machine.name)}</title></rect>"
        )


def _in_strips(shares: tuple[int, ...]) -> list[Box]:
    return [Box(sum(shares[:place]), 0, share, 1) for place, share in enumerate(shares)]


def _bars(schedule: Schedule, colours: dict[Machine, str], unit: str) -> Iterator[str]:
    """Yield a line for each machine: its name and share, and a bar for its time."""
    names, bars = _SQUARE + 2 * _GAP, _SQUARE + _NAMES + 3 * _GAP
    scale = _BARS / schedule.prediction.time if 0 < schedule.prediction.time < float("inf") else 0.0
    each = zip(schedule.map.machines, schedule.map.shares, schedule.prediction.costs, strict=True)
    for line, (machine, share, cost) in enumerate(each):
        y = 50 + line * _LINE
        computing = min(_BARS, cost.computing * scale)
        exchanging = min(_BARS - computing, cost.exchanging * scale)
        yield f'<text x="{names}" y="{y + 12}">{escape(machine.name)}: {share:,} {unit}</text>'
        yield f'<rect x="{bars}" y="{y}" width="{computing:.2f}" height="14" fill="{colours[machine]}"/>'
        yield f'<rect x="{bars + computing:.2f}" y="{y}" width="{exchanging:.2f}" height="14" fill="{_EXCHANGING}"/>'
    y = 50 + max(_SQUARE, _LINE * len(schedule.map.machines)) + 25
    yield f'<text x="{bars}" y="{y}">coloured: computing; dark: exchanging</text>'
