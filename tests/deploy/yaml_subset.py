"""The small part of YAML that the files in deploy/ are written in; anything else is a mistake.

Block mappings and sequences by indentation, plain and double-quoted scalars, [flow, sequences], comments on lines of
their own. A sequence is indented deeper than its key. Every scalar is text, but the empty one is None.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_KEY = re.compile(r"([A-Za-z0-9_.-]+):(?: (\S.*))?")
_PLAIN = re.compile(r"(?![\[\]{}&*!|>'\"%@`#,?:-])(?!.*(: | #)).*[^:]|>=.*")
_AMBIGUOUS = re.compile(r"(?i)yes|no|on|off|y|n|~|null|[0-9]+:[0-9:]+")


class YamlError(ValueError):
    """Something that is not of this subset, with its line."""


@dataclass
class _Line:
    number: int
    indent: int
    text: str


def read(path: Path) -> Any:
    """The document in a file; YamlError."""
    lines = [
        _Line(number, len(line) - len(line.lstrip(" ")), line.strip(" "))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    value = _block(lines, 0)
    if lines:
        raise _error(lines[0])
    return value


def _block(lines: list[_Line], indent: int) -> Any:
    return _sequence(lines, indent) if lines[0].text.startswith("- ") else _mapping(lines, indent)


def _mapping(lines: list[_Line], indent: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    while lines and lines[0].indent == indent and not lines[0].text.startswith("- "):
        line = lines.pop(0)
        match = _KEY.fullmatch(line.text)
        if match is None or match[1] in found:
            raise _error(line)
        if match[2] is not None:
            found[match[1]] = _scalar(match[2], line)
        elif lines and lines[0].indent > indent:
            found[match[1]] = _block(lines, lines[0].indent)
        else:
            found[match[1]] = None
    return found


def _sequence(lines: list[_Line], indent: int) -> list[Any]:
    found = []
    while lines and lines[0].indent == indent and lines[0].text.startswith("- "):
        line = lines[0]
        text = line.text[2:]
        if _KEY.fullmatch(text):
            lines[0] = _Line(line.number, indent + 2, text)
            found.append(_mapping(lines, indent + 2))
        else:
            found.append(_scalar(lines.pop(0).text[2:], line))
    return found


def _scalar(text: str, line: _Line) -> Any:
    try:
        if text.startswith(('"', "[")):
            return json.loads(text)
    except ValueError:
        raise _error(line) from None
    if not _PLAIN.fullmatch(text) or _AMBIGUOUS.fullmatch(text):
        raise _error(line)
    return text


def _error(line: _Line) -> YamlError:
    return YamlError(f"line {line.number}: {line.text}")
