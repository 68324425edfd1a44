"""Jobs and mates as parameters of commands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from cosched.validation.pair_names import ALLOWED, is_pair_name

Command = TypeVar("Command", bound=Callable[..., Any])


class JobId(click.ParamType[str]):
    """A job's id, `17` or `intrepid:17`; with `anywhere` only the latter."""

    name = "job"

    def __init__(self, *, anywhere: bool = False) -> None:
        self._anywhere = anywhere

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The text as it is, checked."""
        domain, colon, job = value.partition(":")
        if (colon and not (domain and job)) or not value or (self._anywhere and not colon):
            self.fail(f"{value!r} is not {'DOMAIN:ID' if self._anywhere else 'ID or DOMAIN:ID'}", param, ctx)
        return value


class PairName(click.ParamType[str]):
    """The name of a pair."""

    name = "pair"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The text as it is, checked."""
        if not is_pair_name(value):
            self.fail(f"{value!r} cannot be the name of a pair: {ALLOWED}", param, ctx)
        return value


def pair_options(command: Command) -> Command:
    """Add `--pair`, `--pair-domain` and `--or-alone`."""
    command = click.option("--or-alone", is_flag=True, help="Start it alone if there is no such mate.")(command)
    command = click.option(
        "--pair-domain", metavar="DOMAIN", default="", help="The mate's domain, if there are several peers."
    )(command)
    return click.option("--pair", type=PairName(), metavar="NAME", help="A name that both jobs are submitted with.")(
        command
    )
