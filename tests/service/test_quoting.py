"""Quotes for many callers: one at a time, of the queue as it is when each has its turn."""

import asyncio
from types import SimpleNamespace

import pytest

from cosched.core.scheduling.batch.open_cluster import OpenCluster
from cosched.core.scheduling.scheduler import ClusterJob
from cosched.service.planning import quoting
from cosched.service.planning.quoting import Quotes
from cosched.service.wire.errors import Refusal
from tests.conformance.schedulers.kinds import machine


def domain(cluster: OpenCluster, *, estimates: bool = True) -> SimpleNamespace:
    kind = SimpleNamespace(capabilities=SimpleNamespace(estimates=estimates), title="a batch scheduler")
    return SimpleNamespace(kind=kind, scheduler=cluster, clock=SimpleNamespace(now=lambda: 0))


def job(number: int) -> ClusterJob:
    return ClusterJob(str(number), 8, 10, 0, paired=False)


async def test_each_has_its_turn_and_finds_what_was_submitted_before_it(monkeypatch):
    """8 nodes; each job takes all of them for 10 s. After each quote the job is submitted that was quoted."""
    cluster, made = OpenCluster(machine("fcfs", "easy", "flat")), []
    cluster.enter(0)
    quotes = Quotes(domain(cluster))
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
        made.append(job(len(cluster.jobs()) + 1))
        return made[-1]

    async def ask() -> int | None:
        _, at = await quotes.start_of(prospect)
        cluster.submit(made[-1])
        return at

    monkeypatch.setattr(quoting, "in_slices", one_at_a_time)
    assert await asyncio.gather(*(ask() for _ in range(4))) == [0, 10, 20, 30]
    assert [each.id for each in made] == cluster.jobs() == ["1", "2", "3", "4"]


async def test_a_scheduler_that_cannot_be_played_on_gives_none():
    with pytest.raises(Refusal) as refused:
        await Quotes(domain(OpenCluster(machine("fcfs", "easy", "flat")), estimates=False)).start_of(lambda: job(1))
    assert refused.value.reason == "NO_QUOTES"
