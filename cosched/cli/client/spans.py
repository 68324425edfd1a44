"""Spans of time as options."""

from __future__ import annotations

from collections.abc import Iterable

import click

from cosched.cli.client.time_limits import has_parts, parse_time_limit
from cosched.cli.output.terminal import say
from cosched.validation.durations import parse_seconds


class Span(click.ParamType[int]):
    """An option's value in seconds, given as `90`, `30s`, `2h` or `1d`, or as `1:30:00` or `1-12` (1.5 days)."""

    name = "time"

    def convert(self, value: str | int, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Parse a span to seconds."""
        if isinstance(value, int):
            return value
        try:
            seconds = parse_time_limit(value) if has_parts(value) else parse_seconds(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)
        tell_seconds([value], param)
        return seconds


def tell_seconds(times: Iterable[str], param: click.Parameter | None) -> None:
    """Tell the user how the first of these times that has no unit is read: a limit, as of `--time`, has minutes."""
    numbers = (time.strip().lstrip("+-") for time in times)
    bare = next((number for number in numbers if number.isdecimal() and int(number)), None)
    if bare is not None:
        option = param.opts[0] if param is not None else "a time"
        say(f"{option}: {bare} is read as seconds, not as minutes as by --time; write {bare}s or {bare}m")
