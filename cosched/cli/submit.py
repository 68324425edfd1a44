"""`cosched submit`: a script as a job, with or without a mate."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from cosched.cli.connection import connected, server_option
from cosched.cli.directives import given_options, read_directives
from cosched.cli.exports import exported
from cosched.cli.jobs import JobId, pair_options
from cosched.cli.plain_text import printable
from cosched.cli.terminal import _put as show_text
from cosched.cli.terminal import say
from cosched.cli.time_limits import TimeLimit
from cosched.cli.wording import mate_found
from cosched.errors import InputError

if TYPE_CHECKING:
    from cosched.client import Job

Command = TypeVar("Command", bound=Callable[..., Any])

MAX_SCRIPT = 1 << 20  # bytes, as the protocol has it
MATES = frozenset({"mate", "pair", "pair_domain"})  # who names one of them anew means none of the others


def job_options(command: Command) -> Command:
    """The options that may stand in the script as well."""
    options = [
        click.option("-N", "--nodes", type=click.IntRange(min=1), default=1, help="How many nodes (1)."),
        click.option("-t", "--time", "time_limit", type=TimeLimit(), help="How long it may run: D-HH:MM:SS."),
        click.option("-J", "--job-name", "--name", "name", metavar="NAME", help="Its name (the script's file name)."),
        click.option("--mate", type=JobId(anywhere=True), metavar="DOMAIN:ID", help="Its mate, submitted before."),
        pair_options,
        click.option("--hold", is_flag=True, help="Not to be scheduled until released."),
        click.option("-D", "--chdir", "directory", metavar="DIR", default=".", help="Where it runs (here)."),
        click.option("--export", metavar="ALL|NONE|NAME[=VALUE],...", default="ALL", help="Its environment (ALL)."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


@click.command(add_help_option=False)
@job_options
def directive(**_: Any) -> None:
    """The options of a `#COSCHED` line."""


@click.command(context_settings={"allow_interspersed_args": False})
@job_options
@click.option("--parsable", is_flag=True, help="Print the job's id and nothing else.")
@server_option
@click.argument("script", metavar="SCRIPT")
@click.argument("arguments", metavar="[ARGS]...", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def submit(
    ctx: click.Context,
    /,
    script: str,
    arguments: tuple[str, ...],
    parsable: bool,
    server: str | None,
    **options: Any,
) -> None:
    """Submit a script as a job; - is standard input.

    Its mate is a job on another domain that starts at the same moment: name it by --mate if it has been
    submitted, or submit both with the same --pair name, in any order.

    \b
    Options may stand in the script, in comments before its first command:
      #COSCHED --nodes=4 --time=1:00:00 --pair=run7
    Options of the command line win. A time is minutes, M:S, H:M:S, D-H, D-H:M or
    D-H:M:S.
    """
    content = _read(script)
    asked = _settings(options, read_directives(content, script, directive), given_options(ctx))
    _check_mate(asked)
    asked["environment"] = exported(asked.pop("export"), os.environ)
    asked["directory"] = os.path.abspath(asked["directory"])
    asked["name"] = asked["name"] or ("" if script == "-" else Path(script).name)
    with connected(server) as client:
        job = client.submit(content, arguments, **asked)
    _tell(job, parsable)


def _settings(defaults: Mapping[str, Any], script: Mapping[str, Any], flags: Mapping[str, Any]) -> dict[str, Any]:
    """The flags win over the script; a mate that they name also over one that the script names otherwise."""
    if MATES & flags.keys():
        script = {key: value for key, value in script.items() if key not in MATES}
    asked = {key: script.get(key, value) for key, value in defaults.items()}
    return asked | {key: value for key, value in flags.items() if key in defaults}


def _check_mate(asked: Mapping[str, Any]) -> None:
    if asked["mate"] is not None and asked["pair"] is not None:
        raise click.UsageError("--mate and --pair exclude each other")
    if asked["pair_domain"] and asked["pair"] is None:
        raise click.UsageError("--pair-domain needs --pair")


def _read(path: str) -> bytes:
    try:
        script = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except OSError as error:
        raise InputError(path, None, f"cannot be read: {error.strerror}") from None
    if len(script) > MAX_SCRIPT:
        raise InputError(path, None, "is larger than 1 MiB")
    return script


def _tell(job: Job, parsable: bool) -> None:
    show_text(printable(job.id if parsable else f"Submitted job {job.id} to {job.domain}"))
    for mate in job.mates:
        if not parsable or mate.lookup == "no_pair":
            say(printable(mate_found(mate)))
