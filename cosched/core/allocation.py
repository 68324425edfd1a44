"""What a job has on its machine. Its size and its end belong to that, not to the job, and may change."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from fractions import Fraction
from typing import Final, NamedTuple

from cosched.core.kept import Kept
from cosched.core.messages import message
from cosched.core.protocol import FOREVER, JobId


@message
class Allocation:
    """A job has `nodes` nodes from the instant `start` on, and they are expected back at `expected`.

    `where`: the names of the nodes, if its scheduler gives them by name; `resource`: what all of them together are
    called, if its scheduler has a name for that. Each second there counts as `rate` seconds
    (more than 0) of the job's run time, from the instant `resumes` on: a change of size may cost time. `ends_by`: when
    its time limit ends the job, whatever else it gets until then; 0: at `expected`. Before the job runs, only `nodes`
    and `where` need be known.
    """

    nodes: Kept[int]
    start: Kept[int] = 0
    expected: Kept[int] = FOREVER
    rate: Kept[Fraction | int] = 1
    resumes: Kept[int] = 0
    where: Kept[tuple[str, ...] | None] = None
    ends_by: Kept[int] = 0
    resource: Kept[str] = ""

    @property
    def latest_end(self) -> int:
        """When the job has ended at the latest."""
        return self.ends_by or self.expected


class Refused(Enum):
    """What comes of a try, if it gives the job no allocation."""

    NOT_NOW = auto()


NOT_NOW: Final = Refused.NOT_NOW
Given = Allocation | Refused


@message
class SizeChanged:
    """A running job has another allocation from now on. `gave_to`: the job for which nodes were taken from it.

    `more`: how many nodes more than before, once the rules know (`PolicyDomain`).
    """

    job: JobId
    allocation: Allocation
    gave_to: JobId | None = None
    more: int = 0


@message
class Gathered:
    """A queued job has kept nodes until all that it needs had been left by others: so many node-seconds.

    `in_vain`: what others had given for it goes back, as it has not started then.
    """

    job: JobId
    node_seconds: int
    in_vain: bool = False


class Counts(NamedTuple):
    """What was done to the sizes of jobs so far: harvests that were made and refused, and how many jobs gave some."""

    harvests: int
    harvests_refused: int
    jobs_harvested: int
    changes_of_size: int


@dataclass(frozen=True, slots=True)
class Table:
    """What an application predicts of each of its sizes, from its least to its ideal.

    `times`: how long an iteration takes, in any unit; `costs`: how many seconds a resize from this size takes.
    """

    times: tuple[int, ...]
    costs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Malleable:
    """How a job can change its size while it runs; its ideal is what it asks for.

    `least`: the fewest nodes. `parabolic`: its run time on fewer is that of this model; else of the linear one. A
    resize suspends it for `fixed` s, and 9 s for each 100,000 of the `data` bytes that each node has, rounded up.
    `table`: its run times are as it predicts, and so are its costs, instead of all that.
    """

    least: int
    parabolic: bool = False
    fixed: int = 0
    data: int = 0
    table: Table | None = None
