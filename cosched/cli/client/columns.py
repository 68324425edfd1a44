"""What a job says for its scheduler: an option for each column that an installed kind reads, and one for any other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

PREFIX = "column_"  # of the options' names


class ColumnOptions(click.Command):
    """A command that has these options once one is needed: to load the kinds of schedulers takes a while."""

    has_columns = False

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        known = {name for param in self.params for name in param.opts}
        new = (word.startswith("--") and word.partition("=")[0] not in known for word in args)
        if any(new) or not set(args).isdisjoint(ctx.help_option_names):
            self.add_columns()
        return super().parse_args(ctx, args)

    def add_columns(self) -> list[str]:
        """Add the options; return their names, if they are new."""
        from cosched.schedulers.loading import kinds

        columns = {} if self.has_columns else {each.asked: each for kind in kinds().values() for each in kind.columns()}
        self.has_columns = True
        for name, column in columns.items():
            declared = [f"--{name.replace('_', '-')}", PREFIX + name]
            said = f"{column.help[:1].upper()}{column.help[1:]}."
            how: dict[str, Any] = {"metavar": "N" if column.is_number else "TEXT"}
            how = {"flag_value": column.flag} if column.flag else how
            self.params.insert(1, click.Option(declared, help=said, **how))
        return [PREFIX + name for name in columns]


def columns_given(asked: Mapping[str, Any]) -> dict[str, str]:
    """Return the columns that were given, as they were written; UsageError."""
    columns = {}
    for text in asked.get("column") or ():
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise click.UsageError(f"--column {text}: give NAME=TEXT")
        columns[name] = value
    named = {name.removeprefix(PREFIX): value for name, value in asked.items() if name.startswith(PREFIX)}
    return columns | {name: value for name, value in named.items() if value is not None}
