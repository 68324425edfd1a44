"""Spans of time as options."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from cosched.cli.client.time_limits import has_parts, parse_time_limit
from cosched.cli.output.terminal import say
from cosched.cli.parameters import Parsed, Value
from cosched.validation.durations import parse_seconds


class Timed(Parsed[Value]):
    """A type whose texts have `times`: how the first without a unit is read, other than by `--time`, is told."""

    def __init__(self, name: str, read: Callable[[str], Value], times: Callable[[str], Sequence[str]]) -> None:
        super().__init__(name, read)
        self._times = times

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Value:
        """See Parsed."""
        converted = super().convert(value, param, ctx)
        numbers = (time.strip().lstrip("+-") for time in (self._times(value) if isinstance(value, str) else ()))
        bare = next((number for number in numbers if number.isdecimal() and int(number)), None)
        if bare is not None:
            option = param.opts[0] if param is not None else "a time"
            say(f"{option}: {bare} is read as seconds, not as minutes as by --time; write {bare}s or {bare}m")
        return converted


def _seconds(text: str) -> int:
    return parse_time_limit(text) if has_parts(text) else parse_seconds(text)


SPAN = Timed("time", _seconds, lambda text: [text])  # 90, 30s, 2h or 1d; 1:30:00 or 1-12 (1.5 days)
