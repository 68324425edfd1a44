"""The script of a job, and its arguments: what is wrong with them, or may not be meant so, is said before it runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cosched.cli.client.batch_command import LINKS
from cosched.cli.client.directives import unread_directive
from cosched.cli.client.windows import WHEN
from cosched.cli.output.plain_text import printable
from cosched.cli.output.terminal import say
from cosched.validation.scripts import interpreter, wrong_first_line
from cosched.words.errors import InputError
from cosched.words.file_errors import reason_of

if TYPE_CHECKING:
    from cosched.client import Domain

MAX_SCRIPT = 1 << 20  # bytes, as the protocol has it
NOT_FOR_SCRIPTS = LINKS | WHEN | {"or_alone", "destinations"}  # without these a job would start alone, unnoticed
END = "--"  # what follows it is the script's in any case


def read_script(path: str) -> bytes:
    """Return the content of a script, or of standard input for `-`; InputError."""
    try:
        script = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except OSError as error:
        raise InputError(path, None, f"cannot be read: {reason_of(error, path)}") from None
    if len(script) > MAX_SCRIPT:
        raise InputError(path, None, "is larger than 1 MiB")
    if (wrong := wrong_first_line(script)) is not None:
        raise InputError(path, 1, wrong)
    return script


def arguments_of(ctx: click.Context, given: Sequence[str]) -> tuple[str, ...]:
    """Return the arguments of the script; UsageError for one that was meant for the command and would name a mate.

    Of the command's other options the user is told. Nothing is said of what follows `--`, which is dropped if it is the
    first.
    """
    options = {name: param for param in ctx.command.get_params(ctx) for name in param.opts if name.startswith("-")}
    told = False
    for text in given:
        if text == END:
            break
        word = text.partition("=")[0] if text.startswith("--") else text
        if (param := options.get(word)) is None:
            continue
        if param.name in NOT_FOR_SCRIPTS:
            raise click.UsageError(f"{word} after SCRIPT is the script's: put it before, or write -- after SCRIPT")
        if not told:
            say(printable(f"{word} after SCRIPT is the script's, not the command's (say so by -- after SCRIPT)"))
        told = True
    return tuple(given[1:] if given[:1] == (END,) else given)


def tell_unread(script: bytes, path: str) -> None:
    """Tell the user of a `#COSCHED` line that nobody reads, since commands come before it."""
    if (number := unread_directive(script)) is not None:
        say(printable(f"{path}:{number}: this #COSCHED line is not read: put it before the script's first command"))


def tell_missing(script: bytes, path: str, domain: Domain, server: str) -> None:
    """Tell the user if the script's interpreter is missing on this host, if the domain runs its jobs here."""
    if domain.manager != "local" or not server.startswith("unix:"):
        return
    program = interpreter(script)
    if program.startswith("/") and not os.path.exists(program):
        say(printable(f"{path}:1: its interpreter {program} is missing on this host: the job will fail"))
