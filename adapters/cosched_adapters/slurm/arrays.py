"""Arrays that name mates: each task is a job with a mate of its own, once Slurm has parted it from the others."""

from __future__ import annotations

from collections.abc import Iterable

from cosched_adapters.batch_system import Divided
from cosched_adapters.slurm.calls import Slurm
from cosched_adapters.slurm.commands import JobRow
from cosched_adapters.slurm.comments import find

MOST = 1000  # tasks of an array that are jobs of their own
TOO_MANY = f"an array of more than {MOST} tasks that wait has no mates: submit it in parts"


class Arrays:
    """The arrays of one cluster that name mates."""

    def __init__(self) -> None:
        self.undivided: dict[str, str] = {}  # those whose tasks are to be jobs of their own, and their comments
        self.alone: set[str] = set()  # those that have too many tasks for that
        self._known: dict[str, Divided] = {}
        self._untold: set[str] = set()  # of these more tasks are known than were told

    def note(self, row: JobRow) -> bool:
        """Note a row of an array that names a mate. False: it stands for several tasks."""
        array, comment = row.array or "", row.comment or ""
        if row.task is None:
            self.undivided[array] = comment
        if array not in self._known and (named := find(comment)) is not None:
            self._known[array] = Divided(array, row.user, named, frozenset())
        self._add(array, () if row.task is None else (row.task,))
        return row.task is not None

    async def divide(self, slurm: Slurm) -> list[tuple[str, str]]:
        """Make jobs of the tasks of arrays that name mates. Return those that have too many, with their owners."""
        for array, comment in list(self.undivided.items()):
            tasks = await slurm.tasks(array)
            if len(tasks) > MOST:
                self.alone.add(array)
            else:
                await slurm.part(array, tasks, comment)
                self._add(array, tasks)
            del self.undivided[array]
        return [(array, self._known.pop(array).owner) for array in self.alone & self._known.keys()]

    def _add(self, array: str, tasks: Iterable[int]) -> None:
        known = self._known[array]
        self._known[array] = Divided(array, known.owner, known.named, known.tasks.union(tasks))
        if self._known[array] != known:
            self._untold.add(array)

    def untold(self) -> list[Divided]:
        """Return the arrays that are divided, and have more tasks since the last call."""
        told = sorted(self._untold - self.undivided.keys() - self.alone)
        self._untold -= set(told)
        return [self._known[array] for array in told]

    def forget(self, array: str) -> None:
        """All tasks of an array have ended."""
        self._known.pop(array, None)
        self._untold.discard(array)
        self.alone.discard(array)
