"""Filters for log entries: no secrets, nothing long, nothing that controls a terminal."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from structlog.typing import EventDict, WrappedLogger

MAX_TEXT = 1000  # characters of one value
MAX_TRACEBACK = 8000  # characters of a traceback: its end
MAX_LINE = 20_000  # characters of all keys and values of a line
MAX_ENTRIES = 50  # of a table or list
MAX_DEPTH = 3
HIDDEN = "[hidden]"
CUT = "[cut]"

_SECRET = re.compile(
    r"(?:^|[^a-z])(?:environment|environ|env|script|token|key|password|passwd|passphrase|secret|credential|"
    r"authorization|cookie)s?(?:$|[^a-z])"
)
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_TRACEBACKS = ("exception", "stack")


def without_secrets(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Hide values whose key contains a word such as environment, script, token, key or password, at any depth."""
    return {key: HIDDEN if _is_secret(key) else _revealed(value, 0) for key, value in event.items()}


def bounded(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Shorten values, so that a line has a bounded length; convert them to what JSON can represent."""
    budget = _Budget()
    first = {key: event[key] for key in ("timestamp", "level", "domain", "event", "logger") if key in event}
    return {budget.text(key): budget.value(value, key) for key, value in _head({**first, **event})}


def printable(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Escape control characters and line ends, except the line ends of tracebacks."""
    return {_escaped(key): _visible(value, key in _TRACEBACKS) for key, value in event.items()}


def _is_secret(key: object) -> bool:
    return isinstance(key, str) and _SECRET.search(_HUMP.sub("_", key[:MAX_TEXT]).lower()) is not None


def _revealed(value: object, depth: int) -> object:
    """Return `value` with the secrets in its tables hidden, and all of it hidden at a depth that is never shown."""
    if not isinstance(value, Mapping | list | tuple):
        return value
    if depth > MAX_DEPTH:
        return CUT
    if isinstance(value, Mapping):
        return {k: HIDDEN if _is_secret(k) else _revealed(v, depth + 1) for k, v in _head(value)}
    return [_revealed(each, depth + 1) for each in value[:MAX_ENTRIES]]


def _head(table: Mapping[Any, Any]) -> list[tuple[Any, Any]]:
    return [entry for entry, _ in zip(table.items(), range(MAX_ENTRIES), strict=False)]


class _Budget:
    """The number of characters that a line may still get."""

    def __init__(self) -> None:
        self.left = MAX_LINE

    def value(self, value: object, key: object = None, depth: int = 0) -> object:
        """Return as much of `value` as there is room for."""
        self.left = max(0, self.left - 1)
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int | float):
            return self._number(value)
        if isinstance(value, Mapping | list | tuple):
            return self._container(value, depth)
        if isinstance(value, bytes | bytearray | memoryview):
            return f"[{len(value)} bytes]"
        return self.text(value, last=key in _TRACEBACKS)

    def text(self, value: object, *, last: bool = False) -> str:
        """Return `value` as text; with `last`, keep its end, as for tracebacks."""
        text = value if isinstance(value, str) else _represented(value)
        room = min(self.left, MAX_TRACEBACK if last else MAX_TEXT)
        if len(text) > room:
            text = CUT + text[len(text) - room :] if last else text[:room] + CUT
        self.left = max(0, self.left - len(text))
        return text

    def _number(self, value: int | float) -> object:
        self.left = max(0, self.left - 24)
        if isinstance(value, float):
            return float(value) if math.isfinite(value) else str(value)
        return int(value) if abs(value) < 1 << 64 else "[a large number]"

    def _container(self, value: Mapping[Any, Any] | list[Any] | tuple[Any, ...], depth: int) -> object:
        if depth >= MAX_DEPTH or not self.left:
            return CUT
        if isinstance(value, Mapping):
            return {self.text(k): self.value(v, k, depth + 1) for k, v in _head(value)}
        return [self.value(each, None, depth + 1) for each in value[:MAX_ENTRIES]]


def _represented(value: object) -> str:
    try:
        return str(value)
    except Exception as error:  # a value that cannot be shown must not suppress the rest
        return f"[{type(value).__name__}: {type(error).__name__}]"


def _visible(value: object, lines: bool) -> object:
    if not isinstance(value, str):
        return _escaped(repr(value)) if isinstance(value, dict | list) else value
    return "\n".join(map(_escaped, value.splitlines())) if lines else _escaped(value)


def _escaped(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
