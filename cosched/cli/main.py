"""The command `cosched`: its subcommands, and how each kind of mistake ends."""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import shlex
import sys
import time
from typing import Any

import click

from cosched import __version__
from cosched.cli.demo import demo
from cosched.cli.replay import replay
from cosched.cli.terminal import BEGAN, COMMAND
from cosched.cli.trace import trace
from cosched.errors import InputError

# At its exit Python would search the compiler's objects for garbage: a third of a second for nothing.
atexit.register(gc.freeze)

FAILED, UNUSABLE, INTERRUPTED = 1, 2, 130  # exit codes


class Failure(click.ClickException):
    """The end of a command: one line on standard error and an exit code."""

    def __init__(self, message: str, exit_code: int) -> None:
        """`message` without the name of the program."""
        super().__init__(" ".join(message.splitlines()))
        self.exit_code = exit_code  # type: ignore[misc]

    def show(self, file: Any = None) -> None:  # noqa: ARG002
        """Say it."""
        click.echo(f"cosched: {self.message}", err=True)


class Commands(click.Group):
    """A group that remembers how it was called and turns errors into failures."""

    def make_context(self, info_name: str | None, args: list[str], *rest: Any, **extra: Any) -> click.Context:
        """Note the command line and the time for the files of a run."""
        command, began = shlex.join(["cosched", *args]), time.perf_counter()
        with _failures():  # it prints the help
            context = super().make_context(info_name, args, *rest, **extra)
        context.meta.update({COMMAND: command, BEGAN: began})
        return context

    def invoke(self, ctx: click.Context) -> Any:
        """Run the subcommand; what it has printed is out, or the command has failed."""
        with _failures():
            result = super().invoke(ctx)
            if sys.stdout is not None:
                sys.stdout.flush()
            return result


class _failures(contextlib.AbstractContextManager[None]):  # noqa: N801
    """Errors of the block as failures. A closed pipe is left to click, which ends quietly."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, InputError):
            raise Failure(str(error), UNUSABLE) from None
        if isinstance(error, KeyboardInterrupt):
            raise Failure("interrupted", INTERRUPTED) from None
        if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
            _drop_what_cannot_be_printed()
            reason = error.strerror or str(error)
            raise Failure(f"{os.fsdecode(error.filename)}: {reason}" if error.filename else reason, FAILED) from None


def _drop_what_cannot_be_printed() -> None:
    """Else Python would try again at its exit, and complain in its own words."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, message="%(prog)s %(version)s", prog_name="cosched")
def main() -> None:
    """Start jobs on different supercomputers at the same moment.

    Exit codes: 0 done, 1 the operation failed, 2 wrong usage or a file that cannot be used.
    """


for command in (demo, replay, trace):
    main.add_command(command)
