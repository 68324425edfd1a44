"""A demonstration's output: text, and the queues of both clusters side by side."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import zip_longest

from deploy.lab.demo.place import Place

WIDTH = 96  # columns at most
_HALF = 46


class Screen:
    """Prints to standard output, with bold titles if it is a terminal that supports them."""

    def __init__(self) -> None:
        self._bold = sys.stdout.isatty() and "NO_COLOR" not in os.environ

    def title(self, text: str) -> None:
        """Print the title of a scene."""
        _put("", f"\x1b[1m{text}\x1b[0m" if self._bold else text, "=" * len(text))

    def say(self, text: str) -> None:
        """Print a paragraph."""
        _put("", *textwrap.wrap(" ".join(text.split()), WIDTH))

    def queues(self, places: Sequence[Place]) -> None:
        """Print the queues of both batch systems, and `cosched pairs` of both domains."""
        with ThreadPoolExecutor() as pool:
            queues = pool.map(lambda place: place.queue(), places)
            pairs = pool.map(lambda place: place.service.run("pairs"), places)
        _put("", *_beside([_titled(place, place.command, text) for place, text in zip(places, queues, strict=True)]))
        for place, text in zip(places, pairs, strict=True):
            _put("", *_titled(place, "cosched pairs", text))


def _titled(place: Place, command: str, printed: str) -> list[str]:
    return [f"{place.name}$ {command}", *printed.splitlines()]


def _beside(columns: Sequence[Sequence[str]]) -> list[str]:
    rows = zip_longest(*columns, fillvalue="")
    return [" | ".join(f"{cell[:_HALF]:{_HALF}}" for cell in row).rstrip() for row in rows]


def _put(*lines: str) -> None:
    print("\n".join(lines), flush=True)
