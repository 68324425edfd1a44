"""Histories of a live domain whose scheduler preempts running jobs, and of their mates' domain; it dies at any point.

A run that was preempted ends some seconds later, or by itself before. Processes outlive their domain, as ever.
"""

from __future__ import annotations

from collections import Counter

import pytest

from cosched.core.events import Asked
from cosched.core.job import JobState
from cosched.core.protocol import GetMateStatus, Status
from cosched.core.settings import CoschedulingSettings, Scheme
from cosched.service.domain.changes import Preempt
from tests.core.restless import Restless
from tests.service.test_histories import SCHEMES, chosen, pairs_of, worlds
from tests.service.world import Faults, Node, World
from tests.tiers import seeds, soaked

GRACE = 6  # seconds at most between the order and the end of a run
ACTS = 6  # preemptions of the scheduler's own accord in a life, at most; others make room for mates


class PreemptedNode(Node):
    """A domain whose scheduler preempts; its manager does as a runner tells it (`Launches`)."""

    def __init__(self, *arguments) -> None:
        self.stopped: Counter[str] = Counter()  # runs that were ended, by job
        super().__init__(*arguments)

    def _scheduler(self):
        return Restless(10, self.world.random, self.world.acts, resizes=False)

    def _live(self) -> None:
        super()._live()
        for job in [job for job, record in self.domain.jobs.items() if record.preempted_at is not None]:
            self.preempt(job)

    def _check_record(self) -> None:
        assert all(self.store.job(job) for job in self.acknowledged)
        for job in (*self.running, *self.done):
            record = self.store.job(int(job))
            assert record.state >= JobState.RUNNING or record.preempted_at is not None, f"{job} was launched too early"

    def launch(self, job: str) -> None:
        if job in self.running or job in self.done or not self.domain.jobs[job].is_launched:
            return
        self.starts[job] += 1
        self.started_at[job] = self.world.now
        self.running[job] = self.world.now + self.run_times[job]
        run = self.starts[job]
        self.world.at(self.running[job], lambda: self._is_present(job, run) and self._end(job))

    def preempt(self, job: str) -> None:
        if job in self.done or self.domain.jobs[job].preempted_at is None:
            return
        if job not in self.running:  # it was never launched, or nothing of it is left
            self.world.at(self.world.now, lambda: job not in self.running and self._is_over(job))
            return
        run = self.starts[job]
        self.world.at(self.world.now + self.world.random.randint(0, GRACE), lambda: self._stop(job, run))

    def _stop(self, job: str, run: int) -> None:
        if self._is_present(job, run):
            del self.running[job]
            self.stopped[job] += 1
            self._is_over(job)

    def _is_over(self, job: str) -> None:
        self.guarded(lambda: self.domain.run_over(job))

    def _is_present(self, job: str, run: int) -> bool:
        return job in self.running and self.starts[job] == run


class PreemptedWorld(World):
    """Domain a preempts, domain b does not."""

    acts = ACTS

    @staticmethod
    def node_kind(world, name, *rest) -> Node:
        return (PreemptedNode if name == "a" else Node)(world, name, *rest)


class CalmWorld(PreemptedWorld):
    """Its scheduler preempts nothing of its own accord."""

    acts = 0


@pytest.fixture
def world(tmp_path):
    """Makes worlds."""
    with worlds(tmp_path, PreemptedWorld) as make:
        yield make


def check_nothing_is_lost_or_doubled(made: World) -> int:
    """Each job completes by one whole run; all others were ended, and were preempted. How many."""
    assert made.is_over(), f"not over at {made.now}"
    a, b = made.nodes["a"], made.nodes["b"]
    assert b.starts == dict.fromkeys(b.expected, 1)
    assert a.starts == Counter(a.expected) + a.stopped
    assert a.domain.scheduler.free == 10
    for job in a.expected:
        record = a.store.job(int(job))
        assert (record.state, record.preempted_at) == (JobState.COMPLETED, None)
        told = a.store.events(0, [record.id], [], 10**6)
        preempted = [event.detail["why"] for event in told if event.what == "is queued again"]
        assert set(preempted) <= {"preempted by its scheduler"}
        assert len(preempted) >= a.stopped[job]
    return sum(a.stopped.values())


@pytest.mark.parametrize("schemes", soaked(SCHEMES, 1))
@pytest.mark.parametrize("seed", seeds(2, 30))
def test_a_preempted_job_waits_again_and_runs_from_its_beginning(world, seed, schemes):
    made = world(seed, schemes, Faults())
    made.run()
    assert check_nothing_is_lost_or_doubled(made) > 0, "nothing was preempted"
    a, b = made.nodes["a"], made.nodes["b"]
    first = {event.job: event.at for event in reversed(a.store.events(0, [], [], 10**6)) if event.what == "started"}
    for pair in pairs_of(made).values():
        assert first[int(pair["a"])] == b.started_at[pair["b"]], "mates start together at first"


@pytest.mark.parametrize("schemes", soaked(SCHEMES, 1))
@pytest.mark.parametrize("seed", seeds(4, 100))
def test_domains_are_killed_at_any_point_and_messages_are_lost_and_doubled(world, seed, schemes):
    made = world(seed, schemes, Faults(lose=0.1, duplicate=0.2, delay=4, kill=0.04), peer_patience=20)
    made.run()
    check_nothing_is_lost_or_doubled(made)


@pytest.mark.parametrize("seed", seeds(2, 60))
def test_power_fails_at_any_point(world, seed):
    made = world(seed, (Scheme.HOLD, Scheme.YIELD), Faults(kill=0.03, power=0.5, sync=3), peer_patience=20)
    made.run()
    check_nothing_is_lost_or_doubled(made)


def running(made: World, job: int, pair: str | None, names: str) -> PreemptedNode:
    """Domain a; its job runs, and so does that of b, if there is one."""
    for name in names:
        made.nodes[name].submit(job, 4, 100, pair)
    made.run(1050)
    assert all(made.nodes[name].running for name in names)
    return made.nodes["a"]


def preempted(node: PreemptedNode, job: str) -> list[object]:
    """What the domain orders when its scheduler takes a job's nodes, in the present turn."""
    scheduler = node.domain.scheduler
    scheduler._preempt(scheduler.jobs[job], node.world.now)
    node.domain.decisions.carry_out([])
    return node.domain.journal.changes.orders


@pytest.mark.parametrize("fault", ["order is lost", "end is lost", "it ends by itself"])
def test_an_order_is_repeated_after_a_restart(tmp_path, fault):
    """The domain dies before the run is told to end, or before it hears that it has ended."""
    made = CalmWorld(tmp_path, 1, {"a": CoschedulingSettings(scheme=Scheme.OFF)}, Faults())
    a = running(made, 1, None, "a")
    with a.domain.turns.take():
        orders = preempted(a, "1")
        assert orders == [Preempt("1")]
        orders.clear()
    if fault == "end is lost":
        a.running.clear()
        a.stopped["1"] += 1
    a.end_for_good()
    if fault == "it ends by itself":
        made.run(1200)
    a.store.close()
    a.begin()
    made.run()
    assert (a.starts["1"], a.stopped["1"]) == ((1, 0) if fault == "it ends by itself" else (2, 1))
    assert a.store.job(1).state is JobState.COMPLETED
    made.close()


def test_a_mate_that_asks_is_told_that_the_job_waits(tmp_path):
    """And its story says why. When it starts again, alone, it says so, too."""
    made = CalmWorld(tmp_path, 1, chosen("ab", (Scheme.HOLD, Scheme.HOLD)), Faults())
    a = running(made, 1, "p", "ab")
    with a.domain.turns.take():
        preempted(a, "1")
        reply = a.domain.questions.ask(Asked("b", GetMateStatus("1", "1")))
    assert reply.status is Status.QUEUING
    made.run()
    told = [event.detail.get("why") for event in a.store.events(0, [1], [], 10**6)]
    assert "preempted by its scheduler" in told
    assert "its mate started before it: desynchronised" in told
    assert (a.starts["1"], made.nodes["b"].starts["1"]) == (2, 1)
    made.close()
