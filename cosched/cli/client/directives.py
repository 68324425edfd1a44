"""`#COSCHED` lines: options of `cosched submit` at the head of a script."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Any

import click

from cosched.cli.output.usage_errors import reason
from cosched.words.errors import InputError

_DIRECTIVE = re.compile(r"#COSCHED(?:\s+(.*))?")
_FOREIGN = re.compile(r"#(?:SBATCH|PBS|BSUB|COBALT|FLUX)(?=\s|:|$)")


def read_directives(script: bytes, path: str, options: click.Command) -> dict[str, Any]:
    """Return parameters of `options` from the script's directives; later lines win. InputError names the line."""
    given: dict[str, Any] = {}
    for number, text in _head(script):
        if (match := _DIRECTIVE.fullmatch(text)) is None:
            continue
        try:
            given |= given_options(options.make_context("#COSCHED", shlex.split(match[1] or "")))
        except (click.UsageError, ValueError) as error:
            said = reason(error) if isinstance(error, click.UsageError) else str(error)
            raise InputError(path, number, said) from None
    return given


def given_options(ctx: click.Context) -> dict[str, Any]:
    """Return the parameters that were given, without those left to their defaults."""
    here = click.core.ParameterSource.COMMANDLINE
    return {name: value for name, value in ctx.params.items() if ctx.get_parameter_source(name) is here}


def foreign_directives(script: bytes) -> Iterator[tuple[int, str]]:
    """Yield line number and first word of each line at the script's head that holds options for a resource manager."""
    for number, text in _head(script):
        if match := _FOREIGN.match(text):
            yield number, match[0]


def unread_directive(script: bytes) -> int | None:
    """Return the number of the first line that would be a directive if it stood at the script's head."""
    head = sum(1 for _ in _head(script))
    for number, line in enumerate(script.split(b"\n")[head:], head + 1):
        if line.startswith(b"#COSCHED") and _DIRECTIVE.fullmatch(line.decode("utf-8", "replace").strip()):
            return number
    return None


def _head(script: bytes) -> Iterator[tuple[int, str]]:
    """Yield the numbered lines before the first that is not a comment."""
    for number, line in enumerate(script.split(b"\n"), 1):
        text = line.decode("utf-8", "replace").strip()
        if text and not text.startswith("#"):
            return
        yield number, text
