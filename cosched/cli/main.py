"""The command `cosched`: its subcommands, and the exit code of each kind of error."""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

import click
from click.shell_completion import CompletionItem

import cosched
from cosched.cli.commands import BROUGHT, OPERATORS, OWN, RESEARCHERS, USERS, Table, command, commands
from cosched.cli.output.failures import FAILED, INTERRUPTED, UNUSABLE, Failure
from cosched.cli.output.terminal import BEGAN, COMMAND, say
from cosched.host.garbage import look_later
from cosched.installation.extras import DISTRIBUTION, install_command
from cosched.version import VERSION
from cosched.words.errors import InputError
from cosched.words.file_errors import reason_of


class Commands(click.Group):
    """The group of the subcommands; it imports only the one that is called.

    It records the command line and turns errors into failures.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names of the subcommands."""
        return list(commands())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import a subcommand."""
        found = command(cmd_name)
        return found.load() if found is not None else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the named subcommand; Failure, with a similar name, if there is none."""
        name = args[0]
        if command(name) is None and not name.startswith("-") and not ctx.resilient_parsing:
            from cosched.validation.near_names import did_you_mean

            if name in BROUGHT:
                raise Failure(f"{name} is a command of the simulator: {install_command(BROUGHT[name])}", UNUSABLE)
            meant = did_you_mean(name, commands()) or "; cosched -h lists all"
            raise Failure(f"no command is called {name!r}{meant}", UNUSABLE)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the subcommands with their short help, by whom they are for, without importing them."""
        usable = _usable(say)
        width = max(map(len, usable))
        lists: dict[str, list[tuple[str, str]]] = {whose: [] for whose in (USERS, OPERATORS, RESEARCHERS)}
        for name, found in usable.items():
            lists.setdefault(found.whose, []).append((f"{name:{width}}", found.short_help))
        for whose, listed in lists.items():
            if listed:
                with formatter.section(whose):
                    formatter.write_dl(listed)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete the name of a subcommand without importing any."""
        names = {name: found for name, found in _usable().items() if name.startswith(incomplete)}
        items = [CompletionItem(name, help=found.short_help) for name, found in names.items()]
        return items + click.Command.shell_complete(self, ctx, incomplete)

    def make_context(self, info_name: str | None, args: list[str], *rest: Any, **extra: Any) -> click.Context:
        """Note the command line and the time; a run's files contain them."""
        command, began = shlex.join(["cosched", *args]), time.perf_counter()
        look_later()
        with _failures():  # this also prints the help
            _check_package()
            context = super().make_context(info_name, args, *rest, **extra)
        context.meta.update({COMMAND: command, BEGAN: began})
        return context

    def invoke(self, ctx: click.Context) -> Any:
        """Run the subcommand and flush its output; the command fails if that fails."""
        with _failures():
            result = super().invoke(ctx)
            if sys.stdout is not None:
                sys.stdout.flush()
            return result


def _usable(say: Callable[[str], None] = lambda _: None) -> Table:
    """Return all commands, or only ours, with a message to `say`, if the others cannot be loaded."""
    try:
        return commands()
    except InputError as error:
        say(f"cosched: {error}")
        return OWN


class _failures(contextlib.AbstractContextManager[None]):  # noqa: N801
    """Turn errors of the block into failures. A closed pipe is left to click, which ends quietly."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, InputError):
            raise Failure(str(error), UNUSABLE) from None
        if isinstance(error, click.UsageError) and not isinstance(error, click.exceptions.NoArgsIsHelpError):
            from cosched.cli.output.usage_errors import usage_failure

            raise usage_failure(error) from None
        if isinstance(error, KeyboardInterrupt):
            raise Failure("interrupted", INTERRUPTED) from None
        if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
            _drop_what_cannot_be_printed()
            path = os.fsdecode(error.filename) if error.filename else ""
            reason = reason_of(error, path) if path else error.strerror or str(error)
            raise Failure(f"{path}: {reason}" if path else reason, FAILED) from None
        if isinstance(error, Exception) and not isinstance(error, click.ClickException | click.exceptions.Exit):
            _blame(error)


def _blame(error: Exception) -> None:
    """Name the scheduler of a package, after the trace of its error, if that is to blame; Failure."""
    if "cosched.schedulers.kind" not in sys.modules:
        return
    from cosched.schedulers.faults import blamed

    if (fault := blamed(error, None)) is not None:
        traceback.print_exception(error)
        raise Failure(fault.of_replay, FAILED) from None


def _check_package() -> None:
    """Refuse a broken installation: the package index has another `cosched`, which overwrites our `__init__.py`."""
    if getattr(cosched, "__version__", None) != VERSION:
        mend = f"pip uninstall cosched, then pip install --force-reinstall --no-deps {DISTRIBUTION}"
        raise InputError(str(cosched.__file__), None, f"another project's cosched was installed over this one: {mend}")


def _drop_what_cannot_be_printed() -> None:
    """Drop unprinted output, which Python would otherwise try to print at exit, with a message of its own."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(VERSION, message="%(prog)s %(version)s", prog_name="cosched")
def main() -> None:
    """Start jobs on different supercomputers at the same moment.

    Exit codes: 0 done, 1 the operation failed, 2 wrong usage or a file that cannot be used, 3 the domain cannot
    be reached, 130 interrupted.
    """
