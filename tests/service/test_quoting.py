"""Quotes for many callers: one at a time, of the queue as it is when each has its turn."""

import asyncio
from types import SimpleNamespace

import pytest

from cosched.core.scheduling.batch.open_cluster import OpenCluster
from cosched.core.scheduling.scheduler import ClusterJob
from cosched.service.manager.queues import Queue
from cosched.service.planning import quoting
from cosched.service.planning.quoting import Quotes
from cosched.service.store import JobScript
from cosched.service.wire.errors import Refusal
from cosched.service.wire.fields import FieldError
from cosched.service.wire.submissions import Submission
from cosched_adapters.batch_system import Foreseen
from tests.conformance.schedulers.kinds import machine

NO_MANAGER = Queue(None)


def domain(cluster: OpenCluster, *, estimates: bool = True) -> SimpleNamespace:
    kind = SimpleNamespace(capabilities=SimpleNamespace(estimates=estimates), title="a batch scheduler")
    clock = SimpleNamespace(now=lambda: 0, to_wall=lambda now: now)
    return SimpleNamespace(kind=kind, scheduler=cluster, clock=clock)


def quotes_of(queue: Queue) -> Quotes:
    return Quotes(domain(OpenCluster(machine("fcfs", "easy", "flat")), estimates=False), queue, lambda *_: job(1))


def wanted(nodes: int, **columns: str) -> Submission:
    return Submission("job", nodes, 10, JobScript(b"", (), "/", {}), None, hold=False, owner="", columns=columns)


def job(number: int) -> ClusterJob:
    return ClusterJob(str(number), 8, 10, 0, paired=False)


async def test_each_has_its_turn_and_finds_what_was_submitted_before_it(monkeypatch):
    """8 nodes; each job takes all of them for 10 s. After each quote the job is submitted that was quoted."""
    cluster, made = OpenCluster(machine("fcfs", "easy", "flat")), []
    cluster.enter(0)
    quotes = Quotes(domain(cluster), NO_MANAGER, lambda *_: prospect())
    playing = 0
    slices = quoting.in_slices

    async def one_at_a_time(forecast):
        nonlocal playing
        playing += 1
        assert playing == 1
        try:
            await asyncio.sleep(0)
            async for foreseen in slices(forecast):
                yield foreseen
        finally:
            playing -= 1

    def prospect() -> ClusterJob:
        made.append(job(len(cluster.rows.row) + 1))
        return made[-1]

    async def ask() -> int | None:
        told = await quotes.start_of(wanted(8), "ada")
        cluster.submit(made[-1])
        return told.at

    monkeypatch.setattr(quoting, "in_slices", one_at_a_time)
    assert await asyncio.gather(*(ask() for _ in range(4))) == [0, 10, 20, 30]
    assert [each.id for each in made] == list(cluster.rows.row) == ["1", "2", "3", "4"]


async def test_where_the_manager_schedules_it_says_when_a_job_would_start():
    asked = []

    class Manager(Queue):
        async def foresee(self, *what):
            asked.append(what)
            return Foreseen(130, 100)

    quotes = quotes_of(Manager(None))
    assert await quotes.start_of(wanted(2, nodelist="n1,n2"), "ada") == Foreseen(130, 100)
    assert asked == [(2, 10, ("n1", "n2"))]
    with pytest.raises(FieldError, match="has 2 names, and 3 nodes are wanted"):
        await quotes.start_of(wanted(3, nodelist="n1,n2"), "ada")
    with pytest.raises(Refusal, match="least: nothing reads this of jobs here"):
        await quotes.start_of(wanted(3, least="2"), "ada")


async def test_who_foresees_nothing_gives_none():
    with pytest.raises(Refusal) as refused:
        await quotes_of(NO_MANAGER).start_of(wanted(1), "ada")
    assert refused.value.reason == "NO_QUOTES"
