"""Estimates are compared with what happens, and the mates of jobs that wait are asked for in few calls."""

import asyncio
import time
from functools import partial
from types import SimpleNamespace

import pytest

from cosched.core.job import JobState
from cosched.core.protocol import Failure
from cosched.core.scheduling.forecast import Forecast
from cosched.core.settings import CoschedulingSettings, Scheme
from cosched.service.api.views import Views
from cosched.service.domain import mate_states
from cosched.service.manager.plans import Plan, planned
from cosched.service.manager.queues import Queue
from cosched.service.peers.peers import CallError
from cosched.service.planning import explaining
from cosched.service.planning.estimates import OWN, TOGETHER, Estimates
from cosched.service.planning.explaining import Explaining
from cosched.v1 import coscheduling_pb2 as wire
from cosched.v1.explain_pb2 import ExplainMatesRequest, ExplainMatesResponse
from cosched_adapters import slices
from tests.service.replies import UNSUBMITTED
from tests.service.world import World, domain_a


class Side:
    """What explains in one domain of the world; its peer is the other side."""

    def __init__(self, world: World, name: str, sides: dict[str, "Side"]) -> None:
        self.sides, self.asked, self.away = sides, 0, False
        self.domain = world.nodes[name].domain
        self.domain.clock.from_wall = lambda instant: instant
        queue = Queue(None, partial(planned, self.domain))
        self.estimates = Estimates(self.domain.store)
        self.explaining = Explaining(self.domain, queue, self, self.estimates)

    async def explain(self, peer: str, request: ExplainMatesRequest) -> ExplainMatesResponse:
        self.asked += 1
        if self.away:
            raise CallError(Failure.UNREACHABLE, "it is down")
        pairs = [(one.caller.domain, one.caller.job_id, one.job.job_id) for one in request.pairs]
        return ExplainMatesResponse(outlooks=await self.sides[peer].explaining.outlooks(pairs))


@pytest.fixture
def world(tmp_path):
    """All of a is taken for 500 s; then ten pairs start there one after the other, whose mates hold on b."""
    settings = CoschedulingSettings(scheme=Scheme.HOLD, release_interval=0, max_held_fraction=1)
    made = domain_a(tmp_path, settings).world
    made.nodes["a"].submit(1, 10, 500, None)
    for job in range(2, 12):
        made.nodes["a"].submit(job, 10, 100, f"p{job}")
        made.nodes["b"].submit(job, 1, 100, f"p{job}")
    made.run(1100)
    list(Forecast(made.nodes["a"].domain.scheduler, made.now).starts())  # compiles the kernels, as a service does first
    return made


@pytest.fixture
def sides(world):
    made: dict[str, Side] = {}
    made.update({name: Side(world, name, made) for name in "ab"})
    return made


async def test_a_page_does_not_wait_for_a_plan_that_takes_long(sides, monkeypatch):
    """As a batch system's may that gives no answer: what was known before is shown."""
    side = sides["a"]
    record, answer = side.domain.jobs["2"], asyncio.Event()
    (before,) = await side.explaining.known([record])
    assert before.job.HasField("start")

    async def slow() -> Plan:
        await answer.wait()
        return Plan()

    monkeypatch.setattr(side.explaining._queue, "_planner", slow)
    monkeypatch.setattr(explaining, "PATIENCE", 0.01)
    side.explaining._last_plan = 0.0
    for _ in range(2):
        assert (await side.explaining.known([record]))[0].job.start == before.job.start
    answer.set()
    await side.explaining.plan()
    assert not (await side.explaining.known([record]))[0].job.HasField("start")


async def test_estimates_are_compared_with_what_happens(world, sides):
    a = sides["a"]
    await a.explaining.keep_in_step()
    assert a.asked == 1, "for all ten"
    assert len(a.estimates.unsettled()) == 10
    told = (await a.explaining.explain([a.domain.jobs["2"]]))[0]
    assert told.together.at == told.job.start.at
    assert told.mates[0].reason.mate_waits.mate.job_id == "2"
    world.run()
    await a.explaining.keep_in_step()
    assert a.estimates.unsettled() == set()
    records = a.domain.store.estimates()
    assert {record.kind for record in records} == {OWN, TOGETHER}
    assert all(record.late is not None and abs(record.late) <= 60 for record in records), records


async def test_others_have_their_turn_while_estimates_are_compared(sides, monkeypatch):
    monkeypatch.setattr(slices, "SLICE", -1)
    a = sides["a"]
    await a.explaining.keep_in_step()
    jobs, turns = len(a.domain.jobs), 0
    again = asyncio.create_task(a.explaining.keep_in_step())
    while not again.done():
        turns += 1
        await asyncio.sleep(0)
    assert turns > 2 * jobs, "once for what was expected of each, and once for what is now"


async def test_while_nobody_looks_only_a_sample_of_mates_is_asked_for(sides, monkeypatch):
    monkeypatch.setattr(explaining, "SAMPLE", 3)
    monkeypatch.setattr(explaining, "ASKED_AT_ONCE", 1)
    a = sides["a"]
    await a.explaining.keep_in_step()
    first = set(a.explaining._mates)
    await a.explaining.keep_in_step()
    assert (a.asked, len(first), set(a.explaining._mates)) == (6, 3, first), "the same ones each time"
    assert len(a.estimates.unsettled()) == 10, "of its own part it knows all"
    await a.explaining.known([])  # a page
    await a.explaining._catching_up
    assert a.asked == 6 + 10
    monkeypatch.setattr(explaining, "LOOKS_ON", 0)
    await a.explaining.keep_in_step()
    assert a.asked == 6 + 10 + 3, "nobody has looked for long"


async def test_the_first_list_knows_what_a_single_job_s_explanation_knows(sides):
    a = sides["a"]
    records = [a.domain.jobs[job] for job in ("2", "3")]
    assert all(told.mates[0].HasField("start") for told in await a.explaining.explain(records))
    await a.explaining.explain(records)
    assert a.asked == 1, "they are known by now"


async def test_of_a_running_pair_no_mate_is_unsubmitted(world):
    """The answer that there was no mate yet may come after the mate itself has asked; and both have started."""
    domain = world.nodes["b"].domain
    record = domain.jobs["2"]
    assert Views(domain, domain.clock).job(record).mates[0].lookup == wire.MATE_LOOKUP_FOUND
    domain.calls.heard("2", record.named, {"a": UNSUBMITTED})
    assert Views(domain, domain.clock).job(record).mates[0].lookup == wire.MATE_LOOKUP_FOUND
    world.run(1000 + 520)
    assert record.state is JobState.RUNNING
    mate = Views(domain, domain.clock).job(record).mates[0]
    assert (mate.status, mate.heard_at.seconds) == (wire.MATE_STATUS_RUNNING, record.started_at)


async def test_a_peer_that_is_away_is_told_of(sides):
    sides["a"].away = True
    told = (await sides["a"].explaining.explain([sides["a"].domain.jobs["2"]]))[0]
    assert told.mates[0].problem == "b gives no answer: it is down"
    assert not told.HasField("together")
    stranger = await sides["b"].explaining.outlooks([("c", "2", "2"), ("a", "9", "2"), ("a", "2", "2")])
    assert [outlook.HasField("submitted_at") for outlook in stranger] == [False, False, True], "mates only"


async def test_a_list_asks_for_each_mate_once_in_half_a_minute_and_again_when_it_has_changed(sides, monkeypatch):
    a, now = sides["a"], [time.monotonic() + 1000]
    for module in (explaining, mate_states):
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now[0]))
    records = [a.domain.jobs[str(job)] for job in range(2, 12)]
    for _ in range(5):
        await a.explaining.explain(records)
    assert a.asked == 1
    now[0] += 1
    a.domain.calls.states.outdate("3", "b")
    for _ in range(5):
        await a.explaining.explain(records)
    assert a.asked == 2, "for the one that has changed"
    now[0] += 30
    await a.explaining.explain(records)
    assert a.asked == 3
