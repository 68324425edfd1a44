"""Output of commands: data to standard output, messages and progress to standard error."""

from __future__ import annotations

import contextlib
import io
import json
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from cosched.cli.output.plain_text import table

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.status import Status

COMMAND, BEGAN = "cosched.command", "cosched.began"  # keys of a context's `meta`: the command line, and its start
NARROWEST = 80  # columns of a table; a narrower terminal folds the lines itself
SILENCE_S = 60  # between two lines of progress where there is no terminal
WIDE = 160  # columns, if there is no terminal to ask


def say(message: str) -> None:
    """Print one line for the user."""
    click.echo(message, err=True)


def show_json(value: Any) -> None:
    """Print data for a program, as `json_value` converts them."""
    from cosched.words.plain_json import json_value

    show_text(json.dumps(json_value(value), indent=2, allow_nan=False))


def show_table(header: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[str], found: Any = None) -> None:
    """Print a table; what was `found` as data for a program instead, if that is given."""
    if found is not None:
        show_json(found)
    else:
        show_text(table(header, rows, numbers))


def show(*parts: RenderableType) -> None:
    """Print tables and paragraphs: in colours on a terminal that wants them, else as plain text."""
    from rich.console import Console

    from cosched.cli.output.wide_tables import fitted

    # Standard output itself may be closed or full; `show_text` handles that.
    page = io.StringIO()
    on_terminal = is_terminal(sys.stdout)
    console = Console(file=page, force_terminal=on_terminal, markup=False, highlight=False, emoji=False)
    console.width = max(console.width, NARROWEST) if on_terminal else WIDE
    for part in parts:
        for piece in fitted(part, console):
            console.print(piece)
    show_text("\n".join(line.rstrip() for line in page.getvalue().splitlines()))


def show_text(text: str) -> None:
    """Print data; an OSError names standard output."""
    try:
        click.echo(text)
    except OSError as error:
        raise OSError(error.errno, error.strerror, "standard output") from None


def is_terminal(stream: Any) -> bool:
    """Return whether `stream` is a terminal."""
    return stream is not None and stream.isatty()


class Progress:
    """Shows what is being done: on a terminal in one changing line, else in a line each `SILENCE_S` of a long run."""

    def __init__(self, status: Status | None) -> None:
        """`status` is None if there is no terminal."""
        self._status = status
        self._step = ""
        self._said_at = time.monotonic()

    def step(self, text: str) -> None:
        """Show the next step."""
        self._step = text.removesuffix(" ...")
        self._show(text)

    def go_on(self, text: str) -> None:
        """Show how far the step is."""
        self._show(f"{self._step}: {text}")

    def _show(self, text: str) -> None:
        if self._status is not None:
            self._status.update(text)
        elif time.monotonic() - self._said_at >= SILENCE_S:
            say(text)
            self._said_at = time.monotonic()

    def say(self, message: str) -> None:
        """Print one line for the user, above the progress."""
        if self._status is not None:
            self._status.console.print(message, soft_wrap=True)
        else:
            say(message)


@contextlib.contextmanager
def progress(text: str) -> Iterator[Progress]:
    """Show progress on standard error while the block runs, if that is a terminal."""
    if not is_terminal(sys.stderr):
        yield Progress(None)
        return
    from rich.console import Console

    with Console(stderr=True, markup=False, highlight=False, emoji=False).status(text) as status:
        yield Progress(status)
