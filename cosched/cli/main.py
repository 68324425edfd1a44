"""The command `cosched`: its subcommands, and how each kind of mistake ends."""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import shlex
import sys
import time
from importlib import import_module
from typing import Any

import click
from click.shell_completion import CompletionItem

import cosched
from cosched.cli.failures import FAILED, INTERRUPTED, UNUSABLE, Failure
from cosched.cli.terminal import BEGAN, COMMAND
from cosched.errors import InputError
from cosched.extras import DISTRIBUTION
from cosched.version import VERSION

# At its exit Python would search the compiler's objects for garbage: a third of a second for nothing.
atexit.register(gc.freeze)

# Module, name there, and short help of each command. A module is imported when its command is called.
COMMANDS = {
    "cancel": ("changes", "cancel", "Cancel jobs."),
    "certs": ("certs", "certs", "Make the certificates of domains and users."),
    "completion": ("completion", "completion", "Print what a shell needs to complete commands."),
    "demo": ("demo", "demo", "A minute's look at what coscheduling does."),
    "doctor": ("doctor", "doctor", "Check a domain's set-up and say what to change."),
    "domains": ("cluster", "domains", "Show this domain and its peers."),
    "files": ("files", "files", "Write out unit files, hooks, examples, alerts."),
    "drain": ("draining", "drain", "Prepare the domain for maintenance."),
    "link": ("changes", "link", "Name the mate of a job."),
    "nodes": ("cluster", "nodes", "Show the nodes of the domain."),
    "pairs": ("queue", "pairs", "Show the jobs that have mates."),
    "queue": ("queue", "queue", "Show the jobs of the domain."),
    "release": ("changes", "release", "End a job's hold."),
    "replay": ("replay", "replay", "Replay job logs of coupled clusters."),
    "report": ("report", "report", "Make the report of a run, a sweep or a study anew."),
    "resume": ("draining", "resume", "End what drain began."),
    "serve": ("serve", "serve", "Serve one policy domain."),
    "show": ("show", "show_job", "Show all of a job, and its story."),
    "study": ("study", "study", "Carry out the experiments of a paper."),
    "submit": ("submit", "submit", "Submit a job, with or without a mate."),
    "sweep": ("sweep", "sweep", "Replay a whole grid of settings."),
    "trace": ("trace", "trace", "Look at job logs, convert, generate and pair them."),
    "unlink": ("changes", "unlink", "Dissolve a pair."),
    "watch": ("watch", "watch", "Follow what happens in the domain."),
}


class Commands(click.Group):
    """The subcommands, of which only the one that is called is imported.

    It remembers how it was called and turns errors into failures.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Their names."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """A subcommand, imported."""
        if cmd_name not in COMMANDS:
            return None
        module, name, _ = COMMANDS[cmd_name]
        command: click.Command = getattr(import_module(f"cosched.cli.{module}"), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Their names and short helps, without an import."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, short_help) for name, (_, _, short_help) in COMMANDS.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Names that may follow, without an import."""
        names = [name for name in COMMANDS if name.startswith(incomplete)]
        return [CompletionItem(name, help=COMMANDS[name][2]) for name in names] + click.Command.shell_complete(
            self, ctx, incomplete
        )

    def make_context(self, info_name: str | None, args: list[str], *rest: Any, **extra: Any) -> click.Context:
        """Note the command line and the time for the files of a run."""
        command, began = shlex.join(["cosched", *args]), time.perf_counter()
        with _failures():  # it prints the help
            _check_package()
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


def _check_package() -> None:
    """The package index has another `cosched`, which writes its own file over the one that makes ours a package."""
    if getattr(cosched, "__version__", None) != VERSION:
        mend = f"pip uninstall cosched, then pip install --force-reinstall --no-deps {DISTRIBUTION}"
        raise InputError(str(cosched.__file__), None, f"another project's cosched was installed over this one: {mend}")


def _drop_what_cannot_be_printed() -> None:
    """Else Python would try again at its exit, and complain in its own words."""
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
