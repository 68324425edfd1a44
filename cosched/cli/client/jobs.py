"""Jobs and mates as parameters of commands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from cosched.cli.parameters import Parsed, all_of
from cosched.validation.group_names import check_members, names_job, wrong_group_name, wrong_members
from cosched.validation.pair_names import ALLOWED, is_pair_name


def _job_id(text: str) -> str:
    domain, colon, job = text.partition(":")
    if not text or (colon and not (domain and job)):
        raise ValueError(f"{text!r} is not ID or DOMAIN:ID")
    return text


def _job_anywhere(text: str) -> str:
    if not all(text.partition(":")):
        raise ValueError(f"{text!r} is not DOMAIN:ID")
    return text


def _job_or_group(text: str) -> str:
    if not names_job(text) and not is_pair_name(text):
        raise ValueError(f"{text!r} is neither ID or DOMAIN:ID nor a group, whose name is {ALLOWED}")
    return text


def _pair_name(text: str) -> str:
    if not is_pair_name(text):
        raise ValueError(f"{text!r} cannot be the name of a pair: {ALLOWED}")
    return text


def _group_name(text: str) -> str:
    if why := wrong_group_name(text):
        raise ValueError(f"{text!r}: {why}")
    return text


def _members(text: str) -> tuple[str, ...]:
    members = tuple(text.split(",")) if text else ()
    check_members(members)
    return members


def _destination(text: str) -> tuple[str, str]:
    domain, _, script = text.partition(":")
    if not domain or not script:
        raise ValueError(f"{text!r} is not DOMAIN:SCRIPT")
    return domain, script


JOB_ID = Parsed("job", _job_id)  # 17 or intrepid:17
JOB_ANYWHERE = Parsed("job", _job_anywhere)  # intrepid:17
JOB_OR_GROUP = Parsed("job", _job_or_group)  # or the name of a group, or of a pair
DESTINATION = Parsed("destination", _destination)  # a domain and the script that it gets: intrepid:sim.sh
_PAIR, _GROUP, _MEMBERS = Parsed("pair", _pair_name), Parsed("group", _group_name), Parsed("members", _members)
_WITH = "The domains of the group's other jobs; with the id of a job there that names nobody yet: it joins."
_DOMAIN = "The mate's domain, if there are several peers (link: as before)."

group_options = all_of(
    click.option("--group", type=_GROUP, metavar="NAME", help="A name that all its jobs are submitted with."),
    click.option("--with", "members", type=_MEMBERS, metavar="DOMAIN[:ID],...", help=_WITH),
)
pair_options = all_of(
    click.option("--pair", type=_PAIR, metavar="NAME", help="A name that both jobs are submitted with."),
    click.option("--pair-domain", metavar="DOMAIN", default="", help=_DOMAIN),
    click.option("--or-alone", is_flag=True, help="Start it alone if there is no such mate."),
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
