"""Options that say for what machines are chosen, and how."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

Command = TypeVar("Command", bound=Callable[..., Any])

STRATEGIES = ("dynamic", "static", "user")


class ApplicationName(click.ParamType[str]):
    """NAME,key=value,... of an application."""

    name = "application"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        """Complete the name."""
        from cosched.planning.loading import applications

        found = applications().items()
        return [CompletionItem(name, help=each.purpose) for name, each in found if name.startswith(incomplete)]


def problem_options(*, required: bool, strategies: bool = True) -> Callable[[Command], Command]:
    """Add --application, --size and, if there are `strategies`, --strategy."""

    def add(command: Command) -> Command:
        options = [
            click.option(
                "--application",
                type=ApplicationName(),
                metavar="NAME[,KEY=VALUE]...",
                required=required,
                help="The application to run.",
            ),
            click.option(
                "--size", type=click.IntRange(1, 10**9), metavar="N", required=required, help="The size of its problem."
            ),
            click.option(
                "--strategy",
                type=click.Choice(STRATEGIES),
                default=STRATEGIES[0],
                show_default=True,
                help="Search with what holds now, or at any time; or the fewest machines that hold the data.",
            ),
        ]
        for option in reversed(options if strategies else options[:-1]):
            command = option(command)
        return command

    return add
