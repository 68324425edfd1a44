"""Options that say for what machines are chosen, and how."""

from __future__ import annotations

from collections.abc import Callable

import click
from click.shell_completion import CompletionItem

from cosched.cli.parameters import Command, all_of

STRATEGIES = ("dynamic", "static", "user")


def _complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
    """Complete the name of an application."""
    from cosched.planning.loading import applications

    found = applications().items()
    return [CompletionItem(name, help=each.purpose) for name, each in found if name.startswith(incomplete)]


def problem_options(*, required: bool, strategies: bool = True) -> Callable[[Command], Command]:
    """Return --application, --size and, if there are `strategies`, --strategy."""
    named, sizes = "NAME[,KEY=VALUE]...", click.IntRange(1, 10**9)
    what = "The application to run."
    how = "Search with what holds now, or at any time; or the fewest machines that hold the data."
    each = [
        click.option("--application", metavar=named, required=required, help=what, shell_complete=_complete),
        click.option("--size", type=sizes, metavar="N", required=required, help="The size of its problem."),
    ]
    if strategies:
        choice = click.Choice(STRATEGIES)
        each.append(click.option("--strategy", type=choice, default=STRATEGIES[0], show_default=True, help=how))
    return all_of(*each)
