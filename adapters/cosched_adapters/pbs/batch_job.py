"""What is known of one job that names a mate."""

from __future__ import annotations

from dataclasses import dataclass, field

from cosched_adapters import batch_job
from cosched_adapters.batch_job import Phase
from cosched_adapters.pbs import commands

Mate = tuple[str, str, tuple[tuple[str, str], ...]]  # the owner of jobs, and the name and the ids that they name


@dataclass(eq=False, kw_only=True)
class BatchJob(batch_job.BatchJob):
    """A job that names a mate; instants of its own are by the loop's clock, but for `expected`."""

    expected: int | None = None  # when PBS expects to start it while it waits, in seconds since 1970
    comment: str = ""  # why it waits, in PBS's words
    chosen: frozenset[str] = frozenset()  # the names of the nodes in `nodelist`; set by `put_on`
    offline: bool = False  # they are offline, with the job on record
    admitted: bool = False  # we have called qrun: the hook lets it run
    turned_away: float = 0.0  # until then it is not offered
    by_us: float = float("-inf")  # when we have started it
    too_late: set[str] = field(default_factory=set)  # jobs that were refused its nodes since then
    found_by: Mate | None = None

    def put_on(self, vnodes: str) -> None:
        """Note the nodes on which it is offered; none: it is queued."""
        self.nodelist, self.chosen = vnodes, frozenset(commands.chunks(vnodes))

    @property
    def kept(self) -> frozenset[str]:
        """The nodes that are kept for it."""
        return self.chosen if self.phase is Phase.OFFERED else frozenset()

    def keeps(self, vnodes: str) -> bool:
        """Return whether it is offered, and on these nodes."""
        return self.phase is Phase.OFFERED and self.nodelist == vnodes
