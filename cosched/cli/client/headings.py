"""Help that has a command's options under headings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from inspect import cleandoc
from typing import Any

import click

FIRST = 2  # paragraphs of the help, which come before the options: what the command does, and examples


class CommandWithHeadings(click.Command):
    """A command with `headings`, each over the options of these parameters; all others follow under Options.

    Most of the text follows, too, so that one need not scroll to the options.
    """

    def __init__(self, *arguments: Any, headings: Mapping[str, tuple[str, ...]], **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.headings = headings

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        self._write_text(formatter, slice(FIRST))

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        self._write_text(formatter, slice(FIRST, None))

    def _write_text(self, formatter: click.HelpFormatter, paragraphs: slice) -> None:
        text = "\n\n".join(cleandoc(self.help or "").split("\n\n")[paragraphs])
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(text)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        given = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        options = {param.name: param.get_help_record(ctx) for param in given}
        for heading, names in self.headings.items():
            _write(formatter, heading, [options.pop(name) for name in names])
        _write(formatter, "Options", options.values())


def _write(formatter: click.HelpFormatter, heading: str, options: Iterable[tuple[str, str] | None]) -> None:
    with formatter.section(heading):
        formatter.write_dl([option for option in options if option is not None])
