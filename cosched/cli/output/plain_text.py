"""Tables as plain text, and foreign text made safe for a terminal.

These tables are fast; `show` in `terminal` takes seconds for ten thousand rows.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

WIDEST = 40  # columns; longer cells may be cut


def printable(text: str) -> str:
    """Escape all characters that could control a terminal, as in \\x1b."""
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)


def cut(text: str, most: int = WIDEST) -> str:
    """Return the text, cut to `most` characters."""
    return text if len(text) <= most else text[: most - 1] + "…"


def table(header: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[str] = ()) -> str:
    """Format a table as wide as needed; the columns named in `numbers` are right-aligned."""
    columns = [_aligned(column, right=column[0] in numbers) for column in zip(header, *rows, strict=True)]
    return "\n".join("  ".join(row).rstrip() for row in zip(*columns, strict=True))


def _aligned(cells: Sequence[str], right: bool) -> list[str]:
    widths = list(map(len if "".join(cells).isascii() else _width, cells))
    width = max(widths)
    filled = ((cell, " " * (width - used)) for cell, used in zip(cells, widths, strict=True))
    return [blanks + cell if right else cell + blanks for cell, blanks in filled]


def _width(text: str) -> int:
    """Return how many columns the text takes on a terminal."""
    if text.isascii():
        return len(text)
    wide = (1 + (unicodedata.east_asian_width(sign) in "WF") for sign in text if not unicodedata.combining(sign))
    return sum(wide)
