"""Spans of time as options."""

from __future__ import annotations

import click

from cosched.validation.durations import parse_seconds


class Span(click.ParamType[int]):
    """An option's value in seconds, given as `90`, `30s`, `2h` or `1d`."""

    name = "time"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Parse a span to seconds."""
        try:
            return parse_seconds(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)
