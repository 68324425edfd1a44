"""The lines that hooks and a service exchange over a Unix stream socket.

A line is a verb and fields `key=value`, separated by TABs and ended by LF: printable ASCII, at most MAX_LINE bytes
without the LF. Values are percent-encoded (RFC 3986), so that no value can forge a field or a line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import quote_from_bytes, unquote

MAX_LINE = 8192  # bytes
_LINE = re.compile(rb"[!-~ ]+(?:\t[!-~ ]+)*")

Fields = Mapping[str, str]


class LineError(Exception):
    """A line does not follow the protocol; `str()` says why, without quoting the line."""


def encode(verb: str, fields: Fields | None = None) -> bytes:
    """Return the line, with its LF."""
    values = {key: value.encode("utf-8", "surrogateescape") for key, value in (fields or {}).items()}
    words = [verb, *(f"{key}={quote_from_bytes(value, safe='')}" for key, value in values.items())]
    return ("\t".join(words) + "\n").encode()


def decode(line: bytes) -> tuple[str, dict[str, str]]:
    """Return the verb and the fields of a line without its LF. LineError."""
    if not _LINE.fullmatch(line):
        raise LineError("not printable ASCII")
    verb, *words = line.decode("ascii").split("\t")
    fields: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or key in fields:
            raise LineError("a field without a value, or twice")
        fields[key] = unquote(value, errors="surrogateescape")
    return verb, fields
