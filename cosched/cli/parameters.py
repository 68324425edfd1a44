"""Parameters of commands: types that a function reads, and options that several commands have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

Value = TypeVar("Value")
Command = TypeVar("Command", bound=Callable[..., Any])


class Parsed(click.ParamType[Value]):
    """A type whose texts `read` converts, or refuses by a ValueError that says what is wrong."""

    def __init__(self, name: str, read: Callable[[str], Value]) -> None:
        self.name, self._read = name, read

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Value:
        """Return the value of a text; another value is a default, or was converted before."""
        if not isinstance(value, str):
            return value  # type: ignore[no-any-return]
        try:
            return self._read(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def all_of(*each: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """Return the decorator that adds these options to a command, in this order."""

    def add(command: Command) -> Command:
        for option in reversed(each):
            command = option(command)
        return command

    return add
