"""What is noted while a log is read: lines that were skipped, and what else a user should know of it."""

from __future__ import annotations

from cosched.words.errors import InputError

MOST_NAMED = 3


class Notes:
    """Notes on one log."""

    def __init__(self, source: str, skip_bad: int = 0) -> None:
        """`source` names the log in messages; so many bad lines are skipped, the next is an error."""
        self.source = source
        self.local_times = ""  # the zone in which times without one were read, if there were any
        self._most = skip_bad
        self._skipped = 0
        self._first: list[str] = []
        self._others: list[str] = []

    def bad(self, error: InputError, lines: int = 1) -> None:
        """Skip a bad line, or so many that cannot be told apart; raise the error if that is too many."""
        if self._skipped + lines > self._most:
            if self._most:
                reason = f"{error.reason} (skip_bad={self._most} skips no more bad lines than that)"
                raise InputError(error.source, error.where, reason) from None
            raise error
        self._skipped += lines
        if len(self._first) < MOST_NAMED:
            self._first.append(f"{error.where} ({error.reason})")

    def say(self, remark: str) -> None:
        """Note something else."""
        self._others.append(remark)

    def remarks(self) -> tuple[str, ...]:
        """Return all that a user should know, one line each."""
        if not self._skipped:
            return tuple(self._others)
        lines = "1 bad line" if self._skipped == 1 else f"{self._skipped:,} bad lines"
        more = ", ..." if self._skipped > len(self._first) else ""
        return (f"skipped {lines}: {', '.join(self._first)}{more}", *self._others)
