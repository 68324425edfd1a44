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
    at, inside = _past(text, 0, "{"), False
    while text[at : at + 1] != "}":
        name, at = _DECODE(text, at)
        at = _past(text, at, ":")
        if not inside and name == section and text[at : at + 1] == "{":
            at, inside = _past(text, at, "{"), True
            continue
        value, at = _DECODE(text, at)
        if inside:
            yield name, value
        at = _blanks(text, at)
        if text[at : at + 1] != "}":
            at = _past(text, at, ",")


def _past(text: str, at: int, mark: str) -> int:
    at = _blanks(text, at)
    if text[at : at + 1] != mark:
        raise json.JSONDecodeError(f"Expecting {mark}", text, at)
    return _blanks(text, at + 1)


def _blanks(text: str, at: int) -> int:
    found = _BLANKS.match(text, at)
    return at if found is None else found.end()
