"""A request that is refused leaves nothing: no note of its turn, and a domain that goes on."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock

import grpc
import pytest

from cosched.core.coscheduling.ledger import IllegalEvent
from cosched.core.effects import Call
from cosched.core.job import JobState
from cosched.core.protocol import GetMateJobId, MateJobId, MateTried, Named, ProposeGroupStart, TryStartMate, named_mate
from cosched.core.settings import CoschedulingSettings, Scheme
from cosched.service.api.domain_operations import DomainOperations
from cosched.service.api.operations import Operations
from cosched.service.api.requests import Requests, UserRequest
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.manager.queues import Queue
from cosched.service.peers.linking import Coupled
from cosched.service.replay.pace import Lockstep
from cosched.service.store import JobRecord
from cosched.service.wire.callers import Caller
from cosched.service.wire.errors import Refusal
from cosched.service.wire.submissions import Submission
from cosched.v1.replay_pb2 import PHASE_COMPLETIONS, PHASE_ITERATIONS, PHASE_SUBMISSIONS
from tests.service.job_records import queued
from tests.service.replies import QUEUING, UNSUBMITTED, mate_is
from tests.service.world import SCRIPT, Node, domain_a
from tests.waiting import until

ANN = Caller(None, "ann", operator=True, via="test")
MATE = mate_is("7")


class Announcer:
    """Every other domain says that job 7 is the mate."""

    answer = MATE

    async def ask(self, _: JobRecord, named: Named) -> dict[str, MateJobId]:
        return {named.peer: self.answer}

    def heard(self, *_: Any) -> None:
        """What was said is not noted beside the link."""


class SlowQueue(Queue):
    """A queue that takes its time to write a job's mates; `meanwhile` something else happens."""

    meanwhile: Callable[[], None] | None = None

    def __init__(self) -> None:
        super().__init__(None)
        self.relinked = 0

    def check(self, *_: Any) -> None:
        """All jobs are welcome."""

    async def relink(self, job: str, named: Named) -> None:  # noqa: ARG002
        self.relinked += 1
        if (happens := self.meanwhile) is not None:
            self.meanwhile = None
            happens()


class Site:
    """Domain a, whose calls are only noted. Job 1 is ann's, of pair p on b, and has nodes; the others wait."""

    def __init__(self, node: Node, calls: list[Call]) -> None:
        self.node, self.calls, self.queue, self.announcer = node, calls, SlowQueue(), Announcer()
        requests = Requests(self.domain)
        coupled = Coupled(["b"])
        self.operations = Operations(self.domain, requests, None, self.queue, self.announcer, coupled, 100, 10**9)
        self.of_domain = DomainOperations(self.domain, requests)
        self._number = 0
        for job, pair in ((1, "p"), (2, "q"), (3, "r")):
            self.add(job, pair)

    @property
    def domain(self) -> LiveDomain:
        return self.node.domain

    def add(self, job: int, pair: str) -> None:
        nodes, now = (4, self.node.world.now) if job == 1 else (10, self.node.world.now)
        self.node._submit(queued(job, nodes, 100, now, owner="ann", named=named_mate("b", pair)))

    def answer(self, job: str, *replies: Any) -> None:
        for reply in replies:
            call = next(call for call in reversed(self.calls) if call.job == job)
            self.domain.calls.answered(call, reply)

    def known(self) -> list[Any]:
        """What is known of job 1 in memory and on record, and the story of all."""
        job, store = self.domain.jobs["1"], self.node.store
        return [job.named, job.lookup, job.state, store.job(1), store.events(0, (), (), -1)]

    def request(self, method: str) -> UserRequest:
        self._number += 1
        return UserRequest(ANN, method, str(self._number))

    def tries_its_mate(self, job: str) -> None:
        """What it has asked is answered, and its call that may start the mate is under way."""
        self.answer(job, mate_is("8"), QUEUING)
        assert type(self.domain.core.jobs[job].call) is TryStartMate

    async def submit(self) -> JobRecord:
        wanted = Submission("j", 3, 100, SCRIPT, None, hold=False, owner="")
        return await self.operations.submit(self.request("SubmitJob"), wanted)

    async def cancel(self) -> JobRecord:
        return await self.operations.cancel(self.request("CancelJob"), "2")

    async def release(self) -> JobRecord:
        return await self.operations.release(self.request("ReleaseHold"), "1")

    async def link(self) -> JobRecord:
        return await self.operations.link(self.request("LinkJobs"), "1", named_mate("b", "other"))

    async def unlink(self) -> JobRecord:
        return await self.operations.unlink(self.request("UnlinkJobs"), "1", "b")

    async def drain(self) -> None:
        self.of_domain.drain(self.request("DrainDomain"), 60, 60)

    async def ask(self) -> None:
        self.node.ask(TryStartMate("b/8/1", "1", "8", 0))

    async def propose(self) -> None:
        self.node.ask(ProposeGroupStart("b/8/2", "1", "8", 0, 60))


@pytest.fixture
def site(tmp_path: Path, calls: list[Any], request: pytest.FixtureRequest):
    node = domain_a(tmp_path, CoschedulingSettings(scheme=Scheme.HOLD, max_held_fraction=1))
    node.run_times = dict.fromkeys("1234", 100)
    made = Site(node, calls)
    if "asks" not in request.fixturenames:
        made.answer("1", UNSUBMITTED)
        assert made.domain.state("1") is JobState.HOLDING
    return made


@pytest.fixture
def asks() -> None:
    """Job 1 does not hold yet: it has asked for its mate, and awaits the answer."""


def refuse(site: Site) -> Callable[[], None]:
    """A Refusal at the end of a turn, when all has been noted."""
    notes = site.domain.journal.changes

    def settle() -> None:
        site.domain.journal.note("1", "is ready", nodes=3)
        site.domain.journal.save(site.domain.jobs["1"])
        site.domain.journal.changes.orders.append("an order")
        raise Refusal(grpc.StatusCode.FAILED_PRECONDITION, "NO", "no")

    assert not notes.to_write
    return settle


KINDS: list[Callable[[Site], Awaitable[Any]]] = [
    Site.submit, Site.cancel, Site.release, Site.link, Site.unlink, Site.drain, Site.ask, Site.propose,
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
async def test_a_refusal_in_a_turn_drops_all_that_it_has_noted(site: Site, monkeypatch, kind) -> None:
    """ "Refusal: nothing was done (the block's own, whose notes are dropped)" """
    with monkeypatch.context() as patched:
        patched.setattr(site.domain.decisions, "settle", refuse(site))
        with pytest.raises(Refusal, match="no"):
            await kind(site)
    changes = site.domain.journal.changes
    assert not changes.to_write
    assert not changes.orders
    assert not changes.calls


OF_THE_RULES = [Site.release, Site.link, Site.unlink, Site.ask, Site.propose]


def never(*_: Any) -> None:
    raise IllegalEvent("that cannot be")


@pytest.mark.parametrize("kind", OF_THE_RULES, ids=lambda kind: kind.__name__)
async def test_what_the_rules_do_not_allow_is_a_refusal_and_the_domain_goes_on(site: Site, monkeypatch, caplog, kind):
    before = site.known()
    with monkeypatch.context() as patched:
        patched.setattr(site.domain.core, "handle", never)
        with pytest.raises(Refusal) as caught:
            await kind(site)
    assert caught.value.reason == "ILLEGAL"
    assert "that cannot be" in caplog.text
    assert site.known() == before
    await site.unlink()
    assert site.domain.state("1") is JobState.RUNNING


async def test_a_user_hears_which_rule_refuses_what_he_wants(site: Site, monkeypatch) -> None:
    monkeypatch.setattr(site.domain.core, "handle", never)
    with pytest.raises(Refusal, match="the rules do not allow this just now: that cannot be; nothing was changed"):
        await site.unlink()


async def test_what_our_scheduler_does_for_a_user_is_a_fault_if_the_rules_do_not_allow_it(site: Site, monkeypatch):
    """It would leave half of the request done."""
    handle = site.domain.core.handle
    monkeypatch.setattr(site.domain.policy, "follow", lambda *_: site.domain.policy._tell(None, 0, []))
    monkeypatch.setattr(site.domain.core, "handle", lambda event, now: never() if event is None else handle(event, now))
    with pytest.raises(AssertionError, match="broken"):
        await site.unlink()


async def test_what_came_before_a_job_of_a_trace_that_cannot_be_recorded_is_done(site: Site) -> None:
    """In the same turn of a replay in lock-step: its jobs have ended for good."""

    def submit() -> None:
        raise Refusal(grpc.StatusCode.UNAVAILABLE, "STALLED", "the disk is full")

    settled = AsyncMock()
    outside = SimpleNamespace(settled=settled, fresh=[], has_news=lambda _: False)
    manager, time = SimpleNamespace(ended=lambda _: ["1"]), SimpleNamespace(begin=lambda *_: None)
    parts = manager, time, outside, None, SimpleNamespace(next=7, submit=submit), None, None
    pace = Lockstep(site.domain, *parts)
    with pytest.raises(Refusal, match="the disk is full"):
        await pace._turn(7, (PHASE_COMPLETIONS, PHASE_SUBMISSIONS, PHASE_ITERATIONS))
    settled.assert_awaited_once()
    assert site.node.store.job(1).state is JobState.COMPLETED


# A link takes a while


@pytest.mark.usefixtures("asks")
@pytest.mark.parametrize("started", [False, True])
async def test_a_job_that_tries_its_mate_while_it_is_linked_is_linked_unless_that_starts(site: Site, started) -> None:
    site.queue.meanwhile = lambda: site.tries_its_mate("1")
    linking = asyncio.ensure_future(site.link())
    await until(lambda: site.queue.relinked)
    assert site.domain.jobs["1"].named == named_mate("b", "p", "8")
    site.answer("1", MateTried(started))
    started_first = pytest.raises(Refusal, match="job 1 is RUNNING: it cannot be linked any more")
    with started_first if started else nullcontext():
        await linking
    assert site.domain.jobs["1"].named == (named_mate("b", "p", "8") if started else named_mate("b", "other", "7"))


async def test_a_mate_that_the_other_domain_names_may_be_anothers_already(site: Site) -> None:
    """Else a peer that says so would end the service."""
    site.node.ask(GetMateJobId("7", "q", None, "ann"))
    with pytest.raises(Refusal) as caught:
        await site.link()
    assert caught.value.reason == "PAIR_TAKEN"
    await site.unlink()
