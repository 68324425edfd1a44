"""Which nodes a job gets where its scheduler only counts them (`Capabilities.counts`).

Somebody else chooses them when the job is selected or tried: for an application, a model of its performance does
(Dail et al. 2002; docs/select.md). A job that has nodes, and one that holds, keeps them; one that gives them back has
none. What jobs have is in their allocations and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from cosched.core.protocol import JobId

Chooser = Callable[[JobId, Sequence[str], int], Sequence[str]]  # of free nodes, in the machine's order, so many


def first_ones(_: JobId, free: Sequence[str], count: int) -> Sequence[str]:
    """Choose the first nodes of the machine that are free."""
    return free[:count]


@dataclass(frozen=True, slots=True)
class Places:
    """The names of a machine's nodes, as its manager calls them, and who chooses of them.

    `had`: which ones a job has for which nobody has chosen any, since it had started before.
    """

    names: Sequence[str]
    choose: Chooser = first_ones
    had: Callable[[JobId], Sequence[str]] = lambda _: ()

    def free(self, taken: Iterable[str]) -> list[str]:
        """Return the nodes that nobody has."""
        others = set(taken)
        return [name for name in self.names if name not in others]

    def chosen(self, job: JobId, nodes: int, taken: Iterable[str]) -> tuple[str, ...]:
        """Return so many free nodes for a job, in the order in which it gets them."""
        free = self.free(taken)
        chosen = tuple(self.choose(job, free, nodes))
        assert len(chosen) == len(set(chosen)) == nodes
        assert set(chosen) <= set(free)
        return chosen
