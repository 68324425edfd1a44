"""What the Slurm manager reports, beside `adapters.manager.Started` and `Ended`."""

from __future__ import annotations

from dataclasses import dataclass

from adapters.manager import Ended, Started
from adapters.slurm.comments import Link


@dataclass(frozen=True, slots=True)
class Submitted:
    """A job that names a mate is new here. The first report of each job, unless it is Refused."""

    job_id: str
    submitted_at: int  # seconds since 1970; Slurm sets it anew whenever it requeues the job
    nodes: int
    owner: str
    link: Link


@dataclass(frozen=True, slots=True)
class Refused:
    """A job (array, heterogeneous job) starts alone, though its comment asks for a mate."""

    job_id: str
    owner: str
    reason: str  # one line for its owner


@dataclass(frozen=True, slots=True)
class Relinked:
    """A job's comment names another mate than before, or none."""

    job_id: str
    link: Link | None


@dataclass(frozen=True, slots=True)
class Offered:
    """Slurm has chosen the job and its nodes, and waits to be told: the paper's RunJob."""

    job_id: str
    submitted_at: int
    nodes: int
    nodelist: str
    owner: str
    link: Link | None
    can_yield: bool  # else it can only hold: Slurm would cancel it


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """The job has no nodes any more, without having given them back: offered or running before, it is queued again."""

    job_id: str


Report = Submitted | Refused | Relinked | Offered | Withdrawn | Started | Ended
