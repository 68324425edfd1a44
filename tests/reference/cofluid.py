"""A fluid domain whose jobs have mates: docs/fluid.md, With mates. Comments quote that page, and its design."""

from collections.abc import Callable, Collection
from copy import deepcopy
from dataclasses import dataclass, field

from .fluid import Job, Machine, Rules
from .iteration import Attempt
from .model import RefDomain, RefJob
from .order import rank_after_release
from .state import DomainState, Entry


@dataclass(frozen=True)
class FluidJob(RefJob):
    """Its ideal is `nodes`; it runs for `run` seconds on these, and that was asked for."""

    least: int = 1
    parabolic: bool = False
    fixed: int = 0
    data: int = 0
    times: tuple[int, ...] = ()
    costs: tuple[int, ...] = ()


@dataclass
class RefFluid(RefDomain):
    rules: Rules = field(default_factory=Rules)


class FluidState(DomainState):
    """Its entries have the nodes of a hold, "min"; what they run on is in `machine`."""

    def __init__(self, config: RefFluid) -> None:
        super().__init__(config)
        jobs = [entry.job for entry in self.entries]
        self.machine = Machine(config.nodes, [_job(job) for job in jobs], config.rules)
        self.machine.to_come = []
        self.asked_by_peer = True  # what happens now is not of our own iteration

    def _size(self, job: FluidJob) -> int:
        return job.least

    def _job(self, entry: Entry) -> Job:
        return self.machine.jobs[entry.index]

    def end_of(self, entry: Entry) -> int:
        job = self._job(entry)
        return job.end() if job.ended is None else job.ended

    # What happens to jobs

    def submit(self, entry: Entry) -> None:
        super().submit(entry)
        self.machine.queue.append(self._job(entry))

    def start(self, entry: Entry, place: object, now: int) -> None:
        changed, job = self.changed, self._job(entry)
        self.machine.now = now
        if entry.status == "holding":
            self._take_back(entry)
        super().start(entry, place, now)
        start_on_most(self.machine, job)
        # "An iteration is due where a job was started for its mate, or held and started."
        self.changed = changed or self.asked_by_peer

    def hold(self, entry: Entry, place: object, now: int, release: float) -> None:
        changed, job = self.changed, self._job(entry)
        super().hold(entry, place, now, release)
        self.changed = changed
        # "A hold keeps `min`, of free processors only."
        assert self.machine.avail >= job.least
        self.machine.avail -= job.least
        self.machine.queue.remove(job)
        self.machine.version += 1

    def release(self, entry: Entry, now: int) -> None:
        self._take_back(entry)
        super().release(entry, now)

    def _take_back(self, entry: Entry) -> None:
        job = self._job(entry)
        self.machine.avail += job.least
        self.machine.queue.append(job)
        self.machine.version += 1

    def complete(self, entry: Entry) -> None:
        job = self._job(entry)
        job.ended = job.end()
        self.machine.running.remove(job)
        self.machine.avail += job.procs
        self.machine.version += 1
        super().complete(entry)

    # Iterations

    def iterate(self, now: int, attempt: Attempt) -> None:
        def turn(job: Job) -> bool:
            entry, free = self.entries[job.number], self.machine.avail >= job.least
            attempt(entry, job.least, lambda _release: free)
            return entry not in self.yielded

        self.asked_by_peer = False
        self.machine.now = now
        passed_over = {entry.index for entry in self.yielded}
        Iteration(self.machine, self._order(now), passed_over, len(self.holding), turn).run()
        self.asked_by_peer = True

    def place_in_dry_run(self, k: Entry, now: int) -> object | None:
        """Say whether k is had, on `min` at least: "a dry run of one iteration, other paired jobs passed over"."""
        found: list[Job] = []
        self.machine.now = now
        copy = deepcopy(self.machine)

        def turn(job: Job) -> bool:
            if job.number == k.index:
                found.append(job)
            elif self.entries[job.number].is_alone():
                start_on_most(copy, job)
                return True
            return False

        yielded = {entry.index for entry in self.yielded if entry is not k}
        Iteration(copy, self._order(now), yielded, len(self.holding), turn, until=found).run()
        # "k alone, by a plan that is made again for it"
        job = self._job(k)
        return job.least if found and can_be_had(self.machine, job) else None

    def _order(self, now: int) -> Callable[[Job], tuple[int, int]]:
        # "wanted jobs come first, the released one last"
        ranks = {e.index: rank_after_release(e, now) if self.released else 1 for e in self.entries}
        return lambda job: (ranks[job.number], job.number)


def _job(job: FluidJob) -> Job:
    how = job.parabolic, job.fixed, job.data, job.times, job.costs
    return Job(job.submit, job.least, job.nodes, job.run, *how)


class Iteration:
    """One iteration. `turn` says whether a job has left the queue; all ends as soon as there is something in `until`.

    `holding`: "A job that holds counts in the degree"
    """

    def __init__(
        self,
        machine: Machine,
        order: Callable[[Job], tuple[int, int]],
        passed_over: set[int],
        holding: int,
        turn: Callable[[Job], bool],
        until: Collection[Job] = (),
    ) -> None:
        self.machine, self.order, self.passed_over, self.holding = machine, order, passed_over, holding
        self.turn, self.until = turn, until

    def run(self) -> None:
        machine, rules = self.machine, self.machine.rules
        if rules.baseline == "moldable":
            self.admit()
            return
        while (job := self.head()) is not None and len(machine.running) + self.holding < rules.level:
            if not can_be_had(machine, job):
                break
            self.give_turn(job)
        if rules.favor_running:
            machine.give()
        self.admit()
        machine.give()

    def head(self) -> Job | None:
        # "the head is the first queued job not passed over"
        left = [job for job in self.machine.queue if job.number not in self.passed_over]
        return min(left, key=self.order, default=None) if not self.until else None

    def admit(self) -> None:
        while (job := self.head()) is not None and self.machine.avail >= job.least:
            self.give_turn(job)

    def give_turn(self, job: Job) -> None:
        if not self.turn(job):
            self.passed_over.add(job.number)
        elif job not in self.machine.running:
            self.holding += 1


def can_be_had(machine: Machine, job: Job) -> bool:
    if machine.avail >= job.least:
        return True
    if machine.rules.baseline == "moldable":
        return False
    return machine.plan_harvest(job) is not None


def start_on_most(machine: Machine, job: Job) -> None:
    """Start it on its least and what else is free, up to its ideal; or on its least, by harvest."""
    if machine.avail < job.least:
        assert machine.harvest(job)
    machine.start(job, min(machine.avail, job.ideal))
