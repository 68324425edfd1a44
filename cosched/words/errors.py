"""Errors that are described in one line, as mistakes of users are."""

from __future__ import annotations


class OneLineError(Exception):
    """`str()` says all that helps: logs have no trace of where it came from."""


class InputError(Exception):
    """A file, a line, a key or an option that cannot be used; `str()` is the one line to show.

    `source` names the file or option, `where` the line number or key inside it (None: all of it).
    """

    def __init__(self, source: str, where: int | str | None, reason: str) -> None:
        self.source = source
        self.where = where
        self.reason = reason
        place = source if where is None else f"{source}:{where}"
        super().__init__(f"{place}: {reason}")
