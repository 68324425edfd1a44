"""The jobs of a replay manager, kept over a restart: a line for each launch, and one more if it was cancelled."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from cosched_adapters.manager import End, ManagerError
from cosched_adapters.permissions import make_private


class Launch(NamedTuple):
    """A job that runs from `started` to `end` (instants of the service's time), and `how` it ends."""

    job: str
    started: int
    end: int
    how: End = End.EXITED


class Journal:
    """A file of launches, in a folder of its own. ManagerError if it cannot be read or written."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "launches"

    def read(self) -> dict[str, Launch]:
        """Return the last line of each job. Ignore a line that was not written completely."""
        try:
            make_private(self._path.parent)
            text = self._path.read_text() if self._path.exists() else ""
            launches = [_launch(line) for line in text[: text.rfind("\n") + 1].splitlines()]
        except (OSError, ValueError) as error:
            raise ManagerError(f"{self._path} cannot be read: {error}") from None
        return {launch.job: launch for launch in launches}

    def keep(self, launches: Iterable[Launch]) -> None:
        """Replace the file's contents by these launches."""
        new = self._path.with_suffix(".new")
        try:
            new.write_text("".join(map(_line, launches)))
            new.replace(self._path)
        except OSError as error:
            raise ManagerError(f"{self._path} cannot be written: {error.strerror}") from None

    def note(self, launch: Launch) -> None:
        """Append a launch, which replaces earlier lines of its job."""
        try:
            with self._path.open("a") as file:
                file.write(_line(launch))
        except OSError as error:
            raise ManagerError(f"{self._path} cannot be written: {error.strerror}") from None


def _line(launch: Launch) -> str:
    return f"{launch.job} {launch.started} {launch.end} {launch.how.value}\n"


def _launch(line: str) -> Launch:
    job, started, end, how = line.split(" ")
    return Launch(job, int(started), int(end), End(how))
