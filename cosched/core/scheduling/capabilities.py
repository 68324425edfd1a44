"""What a scheduler can do. All other code asks for that, and knows no scheduler by name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What schedulers of a kind can do, or one with its settings. What is missing degrades, or is refused at the start.

    `resize` and `preempt` are done to running jobs, and `named_places` are where they run: the manager that runs them
    must be able to, too.
    """

    all_jobs: bool = True  # it knows all jobs of the machine; else only those that name a mate
    groups: bool = True  # it keeps nodes for members of groups (GroupScheduler); else no job can be in one
    slots: bool = False  # it plans ahead (Meeting); else jobs get no slots, and none start before their turn
    resize: bool = False  # it changes the sizes of running jobs (SizeChanged)
    preempt: bool = False  # it takes the nodes of running jobs for others (Requeued)
    named_places: bool = False  # it gives nodes by name (`Allocation.where`), as its manager calls them
    nodelists: bool = False  # it gives a job the nodes that this says it must have (`ClusterJob.nodelist`)
    molds: bool = False  # it chooses the size of a job when it starts
    estimates: bool = False  # a copy of it can be played on (Forecast), and takes no nodes back; else none are made
    what_if: bool = False  # a replay can take nodes away, switch schemes and cut links by a script

    @property
    def other_sizes(self) -> bool:
        """Whether jobs have other sizes than they ask for."""
        return self.resize or self.molds

    @property
    def allocates(self) -> bool:
        """Whether what jobs had is more than what they asked for, from their start to their end."""
        return self.other_sizes or self.named_places

    @property
    def counts(self) -> bool:
        """Whether it counts the nodes that all jobs ask for, and no more: others may choose which they are (Places)."""
        return self.all_jobs and not self.molds and not any(self.needs())

    def needs(self) -> Iterator[str]:
        """Yield by name what a launcher must be able to."""
        yield from (name for name in ("resize", "preempt", "named_places") if getattr(self, name))
        if self.resize and self.named_places:
            yield "resize_by_name"
