"""Jobs and mates as parameters of commands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from cosched.validation.group_names import check_members, names_job, wrong_group_name, wrong_members
from cosched.validation.pair_names import ALLOWED, is_pair_name
from cosched.words.errors import InputError

if TYPE_CHECKING:
    from cosched.client import Domain

Command = TypeVar("Command", bound=Callable[..., Any])


class JobId(click.ParamType[str]):
    """A job's id, `17` or `intrepid:17`; with `anywhere` only the latter."""

    name = "job"

    def __init__(self, *, anywhere: bool = False) -> None:
        self._anywhere = anywhere

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the text as it is, checked."""
        domain, colon, job = value.partition(":")
        if (colon and not (domain and job)) or not value or (self._anywhere and not colon):
            self.fail(f"{value!r} is not {'DOMAIN:ID' if self._anywhere else 'ID or DOMAIN:ID'}", param, ctx)
        return value


class JobOrGroup(click.ParamType[str]):
    """A job's id, or the name of a group or a pair."""

    name = "job"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the text as it is, checked."""
        if not names_job(value) and not is_pair_name(value):
            self.fail(f"{value!r} is neither ID or DOMAIN:ID nor a group, whose name is {ALLOWED}", param, ctx)
        return value


class PairName(click.ParamType[str]):
    """The name of a pair."""

    name = "pair"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the text as it is, checked."""
        if not is_pair_name(value):
            self.fail(f"{value!r} cannot be the name of a pair: {ALLOWED}", param, ctx)
        return value


class GroupName(click.ParamType[str]):
    """The name of a group."""

    name = "group"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the text as it is, checked."""
        if why := wrong_group_name(value):
            self.fail(f"{value!r}: {why}", param, ctx)
        return value


class Members(click.ParamType[tuple[str, ...]]):
    """A comma-separated list of domains, or of jobs as DOMAIN:ID."""

    name = "members"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        """Return the members, checked."""
        members = tuple(value.split(",")) if value else ()
        try:
            check_members(members)
        except ValueError as error:
            self.fail(str(error), param, ctx)
        return members


class Destination(click.ParamType[tuple[str, str]]):
    """A domain and the script that it gets, `intrepid:sim.sh`."""

    name = "destination"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        """Return the domain, and the path."""
        domain, _, script = value.partition(":")
        if not domain or not script:
            self.fail(f"{value!r} is not DOMAIN:SCRIPT", param, ctx)
        return domain, script


def group_options(command: Command) -> Command:
    """Add `--group` and `--with`."""
    named = "The domains of the group's other jobs; with the id of a job there that names nobody yet: it joins."
    command = click.option("--with", "members", type=Members(), metavar="DOMAIN[:ID],...", help=named)(command)
    return click.option(
        "--group", type=GroupName(), metavar="NAME", help="A name that all its jobs are submitted with."
    )(command)


def pair_options(command: Command) -> Command:
    """Add `--pair`, `--pair-domain` and `--or-alone`."""
    command = click.option("--or-alone", is_flag=True, help="Start it alone if there is no such mate.")(command)
    command = click.option(
        "--pair-domain",
        metavar="DOMAIN",
        default="",
        help="The mate's domain, if there are several peers (link: as before).",
    )(command)
    return click.option("--pair", type=PairName(), metavar="NAME", help="A name that both jobs are submitted with.")(
        command
    )


def check_destinations(
    destinations: Sequence[tuple[str, str]], script: str | None, server: str | None, options: Mapping[str, Any]
) -> None:
    """Check the options beside --to; UsageError."""
    names = [domain for domain, _ in destinations]
    if script is not None or server is not None:
        raise click.UsageError("--to names domains and scripts: it excludes SCRIPT, ARGS and --server")
    if options["mate"] is not None or options["members"] is not None or options["pair_domain"]:
        raise click.UsageError("--to names the domains of all jobs: it excludes --mate, --with and --pair-domain")
    if (options["group"] is None) == (options["pair"] is None):
        raise click.UsageError("--to needs a name for the jobs: --pair NAME of two, or --group NAME")
    if options["pair"] is not None and len(names) != 2:
        raise click.UsageError("--pair is for two domains: name more of them by --group")
    if len(names) < 2:
        raise click.UsageError("--to is given once for each job of the group, at least twice")
    if (wrong := wrong_members(names[1:])) is not None:
        raise click.UsageError(f"--to: {names[1 + wrong[0]]!r} {wrong[1]}")
    if names[0] in names[1:]:
        raise click.UsageError(f"--to: {names[0]!r} is named twice: a group has one job on each domain")


def check_destination(name: str, domain: Domain) -> None:
    """Check that the domain is the one that was named; InputError."""
    if domain.name != name:
        raise InputError("--to", None, f"at the address of {name} is domain {domain.name}: mend client.toml")
