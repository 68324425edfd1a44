"""Jobs with mates that gather their nodes before they are ready (fluid.md, Live).

Only where a node that a running job gives up is free once its manager says so, not at once: `lags`. There such a job
keeps its least from its turn on, by harvest if need be, while its rules still count it as queued. Its mate is asked
once running jobs have really left so many nodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from cosched.core.allocation import Gathered
from cosched.core.job import JobState
from cosched.core.protocol import JobId
from cosched.core.scheduling.in_vain import InVain
from cosched_papers.fluid.kernels import harvest, promises
from cosched_papers.fluid.rows import Rows


class Gathering:
    """Which nodes are really free, and who gathers them."""

    def __init__(self, rows: Rows, cap: int) -> None:
        """`cap`: how many nodes may be kept at once, by those that gather, are ready, or hold."""
        self.lags = False
        self.cap = cap
        self.in_vain = 0  # harvests that were made for jobs that did not start then
        self._rows = rows
        self._uses: dict[JobId, int] = {}  # nodes that nobody but this running job can have
        self._since: dict[JobId, int] = {}  # jobs that gather, and since when; in this order they are served
        self._harvested: dict[JobId, bool] = {}  # for which others gave, that have not started; whether mates had asked
        self._vain = InVain()
        self._skipped: dict[JobId, int] = {}  # passed over in this iteration, and at which instant they were before
        self._events: list[Gathered] = []

    def __contains__(self, job: JobId) -> bool:
        return job in self._since

    def __bool__(self) -> bool:
        return bool(self._since)

    # What running jobs use

    def uses(self, job: JobId, nodes: int) -> bool:
        """Note how many nodes of a running job nobody else can have; return whether some are free by that."""
        before = self._uses.get(job, 0)
        self._uses[job] = nodes
        return nodes < before

    def late(self, job: JobId) -> int:
        """Return how many nodes the job has still to leave."""
        return max(0, self._uses.get(job, 0) - int(self._rows.jobs["procs"][self._rows[job]]))

    def _free(self) -> int:
        """Return how many nodes nobody has or uses; less than 0: so many more are promised than can be had now."""
        return int(self._rows.machine["avail"]) - sum(map(self.late, self._uses))

    @contextmanager
    def only_free(self) -> Iterator[None]:
        """Let a job start on its least and on what is really free, not on what others have still to leave."""
        if not self.lags:
            yield
            return
        machine = self._rows.machine
        hidden = max(0, min(int(machine["avail"]), int(machine["avail"]) - self._free()))
        machine["avail"] -= hidden
        yield
        machine["avail"] += hidden

    @property
    def kept(self) -> int:
        """The nodes that are free for jobs that are ready or hold."""
        return self._sum(JobState.READY, JobState.HOLDING) - sum(map(self._least, self._since))

    def _sum(self, *states: JobState) -> int:
        jobs = self._rows.jobs
        return int(sum(jobs["procs"][jobs["state"] == state].sum() for state in states))

    def _least(self, job: JobId) -> int:
        return int(self._rows.jobs["least"][self._rows[job]])

    # Who gathers

    def begin(self) -> None:
        """An iteration begins: who was passed over in the last one has its turn again, unless it has yielded before."""
        for job, before in self._skipped.items():
            if job in self._rows:
                self._rows.jobs["passed_over"][self._rows[job]] = before
        self._skipped = {}

    def must_gather(self, job: JobId) -> bool:
        """Return whether a queued job has a mate, and not all nodes of its least are really free."""
        return self.lags and bool(self._rows.jobs["paired"][self._rows[job]]) and self._free() < self._least(job)

    def at_turn(self, job: JobId, now: int) -> None:
        """Let a job whose turn it is gather its nodes, or else pass it over in this iteration.

        After a harvest in vain it waits for its mate to ask: others would give and get nodes at its every turn.
        """
        jobs, row = self._rows.jobs, self._rows[job]
        if self._waits(job, now, asked=False):
            self._skipped[job] = int(jobs["passed_over"][row])
            jobs["passed_over"][row] = now + 1
        else:
            self.gather(job, now)

    def asked_for(self, job: JobId, now: int) -> None:
        """Let a job that could start for its mate gather its nodes, if it may."""
        if not self._waits(job, now, asked=True):
            self.gather(job, now, asked=True)

    def _waits(self, job: JobId, now: int, *, asked: bool) -> bool:
        in_vain = self._must_harvest(job) and self._vain.waits(job, now, asked=asked)
        return in_vain or self._sum(JobState.READY, JobState.HOLDING) + self._least(job) > self.cap

    def gather(self, job: JobId, now: int, *, asked: bool = False) -> None:
        """Keep a queued job's least for it; what is missing is taken by the plan that was made last."""
        if self._must_harvest(job):
            harvest.carry_out(self._rows.state, now)
            self._harvested[job] = asked
        promises.make_ready(self._rows.state, self._rows[job])
        self._since[job] = now

    def _must_harvest(self, job: JobId) -> bool:
        return int(self._rows.machine["avail"]) < self._least(job)

    def may_hold(self, job: JobId) -> bool:
        """Return whether a job may keep what it has: not what others gave at its turn, before its mate has asked."""
        return self._harvested.get(job, True)

    def served(self) -> JobId | None:
        """Return the first job that gathers, and whose nodes are all free now."""
        if not self._since:
            return None
        free = self._free() + sum(map(self._least, self._since))
        return next((job for job in self._since if self._least(job) <= free), None)

    def end(self, job: JobId, now: int) -> None:
        """Note that the job gathers no more: it has its nodes, or gives them back."""
        since = self._since.pop(job, None)
        if since is not None:
            self._events.append(Gathered(job, self._least(job) * (now - since)))

    def started(self, job: JobId, nodes: int, now: int) -> None:
        """Note that a job has started on so many nodes."""
        self.end(job, now)
        self._harvested.pop(job, None)
        self._vain.forget(job)
        self._uses[job] = nodes

    def gives_back(self, job: JobId, now: int) -> bool:
        """A job gives back what it has, or has gathered; return whether others gave that, and did so in vain."""
        self.end(job, now)
        if self._harvested.pop(job, None) is None:
            return False
        self._vain.count(job, now)
        self.in_vain += 1
        self._events.append(Gathered(job, 0, in_vain=True))
        return True

    def ask_anew(self, job: JobId) -> None:
        """Note that something about this job has changed."""
        self._vain.forget(job)

    def leave(self, job: JobId, now: int) -> None:
        """Note that the job is gone."""
        self.gives_back(job, now)
        self._vain.forget(job)
        self._skipped.pop(job, None)
        self._uses.pop(job, None)

    def take_events(self) -> list[Gathered]:
        """Return what has been gathered since the last time."""
        events, self._events = self._events, []
        return events
