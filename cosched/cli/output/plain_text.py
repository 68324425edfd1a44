"""Tables as plain text, and texts of others that a terminal may be shown.

`show` in `terminal` takes seconds for ten thousand rows.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

WIDEST = 40  # columns of a cell that may be cut


def printable(text: str) -> str:
    """The text with all that could steer a terminal as escapes such as \\x1b."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode() for character in text
    )


def cut(text: str, most: int = WIDEST) -> str:
    """The text, or its beginning."""
    return text if len(text) <= most else text[: most - 1] + "…"


def table(header: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[str] = ()) -> str:
    """A table as wide as need be; the columns called `numbers` are to the right."""
    columns = [_aligned(column, right=column[0] in numbers) for column in zip(header, *rows, strict=True)]
    return "\n".join("  ".join(row).rstrip() for row in zip(*columns, strict=True))


def _aligned(cells: Sequence[str], right: bool) -> list[str]:
    widths = list(map(len if "".join(cells).isascii() else _width, cells))
    width = max(widths)
    if right:
        return [" " * (width - used) + cell for cell, used in zip(cells, widths, strict=True)]
    return [cell + " " * (width - used) for cell, used in zip(cells, widths, strict=True)]


def _width(text: str) -> int:
    """Columns on a terminal."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in "WF" else 1
        for character in text
    )
