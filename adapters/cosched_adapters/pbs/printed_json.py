"""Read JSON as PBS prints it, one member at a time: a long queue at once would take too long."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

_DECODE = json.JSONDecoder(strict=False).raw_decode  # PBS leaves control characters as they are
_BLANKS = re.compile(r"[ \t\n\r]*")


def members(text: str, section: str) -> Iterator[tuple[str, Any]]:
    """Yield names and values of the object `section` in the object that is printed; none: there is no such object.

    ValueError: this is not a JSON object.
    """
    at = _past(text, 0, "{")
    while text[at : at + 1] != "}":
        name, at = _name(text, at)
        if name == section and text[at : at + 1] == "{":
            yield from _members(text, at)
            return
        _, at = _DECODE(text, at)
        at = _next(text, at)


def _members(text: str, at: int) -> Iterator[tuple[str, Any]]:
    at = _past(text, at, "{")
    while text[at : at + 1] != "}":
        name, at = _name(text, at)
        value, at = _DECODE(text, at)
        yield name, value
        at = _next(text, at)


def _name(text: str, at: int) -> tuple[str, int]:
    """Return a member's name, and where its value begins."""
    name, at = _DECODE(text, at)
    return name, _past(text, at, ":")


def _next(text: str, at: int) -> int:
    """Return where the next member begins, or its object ends."""
    at = _blanks(text, at)
    return at if text[at : at + 1] == "}" else _past(text, at, ",")


def _past(text: str, at: int, mark: str) -> int:
    at = _blanks(text, at)
    if text[at : at + 1] != mark:
        raise json.JSONDecodeError(f"Expecting {mark}", text, at)
    return _blanks(text, at + 1)


def _blanks(text: str, at: int) -> int:
    found = _BLANKS.match(text, at)
    return at if found is None else found.end()
