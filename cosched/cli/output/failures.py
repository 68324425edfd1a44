"""Failures of commands: one line on standard error and an exit code."""

from __future__ import annotations

from typing import Any

import click

FAILED, UNUSABLE, UNREACHABLE, INTERRUPTED = 1, 2, 3, 130  # exit codes


class Failure(click.ClickException):
    """Ends a command with one line on standard error and an exit code."""

    def __init__(self, message: str, exit_code: int) -> None:
        """Take a `message` without the name of the program."""
        super().__init__(" ".join(message.splitlines()))
        self.exit_code = exit_code  # type: ignore[misc]

    def show(self, file: Any = None) -> None:  # noqa: ARG002
        """Print the line."""
        click.echo(f"cosched: {self.message}", err=True)
