"""Where things go: data to standard output, messages and progress to standard error."""

from __future__ import annotations

import contextlib
import io
import json
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.status import Status

COMMAND, BEGAN = "cosched.command", "cosched.began"  # a context's `meta`: the command line, and when it began
NARROWEST = 80  # columns of a table; a smaller terminal folds the lines itself
WIDE = 160  # columns, where no terminal says how many there are


def say(message: str) -> None:
    """One line for the user."""
    click.echo(message, err=True)


def show_json(value: Any) -> None:
    """Data for a program."""
    show_text(json.dumps(value, indent=2, allow_nan=False))


def show(*parts: RenderableType) -> None:
    """Tables and paragraphs: in colours on a terminal that wants them, else as plain text."""
    from rich.console import Console

    # Not to standard output itself, which may be closed or full.
    page = io.StringIO()
    on_terminal = is_terminal(sys.stdout)
    console = Console(file=page, force_terminal=on_terminal, markup=False, highlight=False, emoji=False)
    console.width = max(console.width, NARROWEST) if on_terminal else WIDE
    for part in parts:
        console.print(part)
    show_text("\n".join(line.rstrip() for line in page.getvalue().splitlines()))


def show_text(text: str) -> None:
    """Data to standard output; an OSError that says so."""
    try:
        click.echo(text)
    except OSError as error:
        raise OSError(error.errno, error.strerror, "standard output") from None


def is_terminal(stream: Any) -> bool:
    """Whether somebody looks at `stream`."""
    return stream is not None and stream.isatty()


class Progress:
    """Says what is being done, in one line that changes, where somebody looks at it."""

    def __init__(self, status: Status | None) -> None:
        """`status` is None where nobody looks."""
        self._status = status

    def step(self, text: str) -> None:
        """What is done from now on."""
        if self._status is not None:
            self._status.update(text)

    def say(self, message: str) -> None:
        """One line for the user, above the progress."""
        if self._status is not None:
            self._status.console.print(message, soft_wrap=True)
        else:
            say(message)


@contextlib.contextmanager
def progress(text: str) -> Iterator[Progress]:
    """Progress on standard error while the block runs, if that is a terminal."""
    if not is_terminal(sys.stderr):
        yield Progress(None)
        return
    from rich.console import Console

    with Console(stderr=True, markup=False, highlight=False, emoji=False).status(text) as status:
        yield Progress(status)
