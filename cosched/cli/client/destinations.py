"""Checks of `cosched submit --to`: which domains get which scripts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from cosched.errors import InputError
from cosched.validation.group_names import wrong_members

if TYPE_CHECKING:
    from cosched.client import Domain


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
