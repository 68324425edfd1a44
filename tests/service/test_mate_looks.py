"""How mates stand is asked for while somebody looks: each at most once in 30 s, and at once when it has changed."""

import asyncio
import time
from types import SimpleNamespace

import pytest

from cosched.core.effects import Answer
from cosched.core.events import Asked
from cosched.core.job import JobState
from cosched.core.protocol import Failure, MateStatus, MemberTold, Settled, SettleGroupStart, Status, TellMember
from cosched.service.api.views import Views
from cosched.service.domain import mate_states
from cosched.service.peers import mate_looks
from cosched.service.peers.mate_looks import MateLooks
from cosched.service.peers.peers import CallError
from cosched.service.tasks import Tasks
from cosched.v1 import coscheduling_pb2 as wire
from tests.service.world import World, domain_a

RUNNING, ENDED = wire.MATE_STATUS_RUNNING, wire.MATE_STATUS_ENDED


class Looking:
    """Somebody who looks at jobs of a; how their mates stand on b is what `status` says."""

    def __init__(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.status, self.asked = time.monotonic() + 1000, Status.RUNNING, 0
        self.meanwhile = None  # what happens once between a question and its answer
        for module in (mate_states, mate_looks):
            monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: self.now))
        self.world, self.domain = world, world.nodes["a"].domain
        self.tasks = Tasks(pytest.fail)
        self.looks = MateLooks(self.domain, self, self.tasks)
        self.views = Views(self.domain, self.domain.clock)

    async def call(self, peer, request) -> MateStatus:
        assert (peer, request.caller) == ("b", request.job)
        self.asked += 1
        if self.status is None:
            raise CallError(Failure.UNREACHABLE, "it is down")
        answer, meanwhile, self.meanwhile = MateStatus(self.status, 0, None), self.meanwhile, None
        if meanwhile is not None:
            self.now += 0.1
            meanwhile()
        return answer

    async def look(self, *jobs: str) -> list[int]:
        """How the mates stand, as is shown."""
        records = [self.domain.jobs[job] for job in jobs]
        await self.looks.look(records)
        told = [self.views.job(record) for record in records]
        return [(job.group.members[0] if job.HasField("group") else job.mates[0]).status for job in told]

    def told(self, job: str, number: int, caller: str | None = None) -> None:
        """B says that the mate there has changed."""
        self.domain.questions.told("b", [TellMember(job, caller or job, number)])

    async def hears(self, job: str, number: int, caller: str | None = None) -> None:
        """And what follows from it has happened."""
        self.told(job, number, caller)
        await self.tasks.settled()

    def hold(self, job: int, group: str | None) -> None:
        """Have a job hold for its mate, or for the other of its group, which queues behind another job."""
        self.world.nodes["b"].submit(99, 8, 1000, None)
        self.world.run_until(lambda: "99" in self.world.nodes["b"].running)
        for node in self.world.nodes.values():
            node.submit(job, 5, 1000, None if group else "q", group)
        self.reach(str(job), JobState.HOLDING)

    def reach(self, job: str, state: JobState) -> None:
        self.world.run_until(lambda: self.domain.state(job) is state)


@pytest.fixture
def looking(tmp_path, monkeypatch):
    """Two jobs that run with others on b: a pair, and a group of two."""
    made = domain_a(tmp_path).world
    for name in "ab":
        made.nodes[name].submit(1, 1, 90_000, "p")
        made.nodes[name].submit(2, 1, 90_000, None, "g")
    made.run(1500)
    return Looking(made, monkeypatch)


@pytest.mark.parametrize("job", ["1", "2"])
async def test_each_is_asked_for_once_in_half_a_minute_however_many_look(looking, job):
    for _ in range(5):
        assert await asyncio.gather(*(looking.look(job) for _ in range(20))) == [[RUNNING]] * 20
        looking.now += 5
    assert looking.asked == 1
    looking.now += 5
    looking.status = Status.ENDED
    assert await looking.look(job) == [ENDED]
    looking.now += 1000
    assert await looking.look(job) == [ENDED]
    assert looking.asked == 2, "what has ended is not asked for again"


@pytest.mark.parametrize("job", ["1", "2"])
async def test_a_mate_that_has_changed_is_asked_for_at_once_while_somebody_looks(looking, job):
    await looking.look(job)
    looking.status = Status.ENDED
    await looking.hears(job, 1)
    assert looking.asked == 2
    assert await looking.look(job) == [ENDED]
    assert looking.asked == 2


@pytest.mark.parametrize("job", ["1", "2"])
async def test_a_mate_that_changes_while_it_is_asked_for_is_asked_for_again(looking, job):
    def ends() -> None:
        looking.status = Status.ENDED
        looking.told(job, 1)

    looking.meanwhile = ends
    assert await looking.look(job) == [ENDED]
    assert looking.asked == 2


@pytest.mark.parametrize("group", [None, "h"])
@pytest.mark.parametrize("while_asked", [False, True])
async def test_a_job_that_starts_with_its_mate_shows_at_once_that_this_starts(looking, group, while_asked):
    """An answer from before the start counts no more; nor does one that comes after it."""
    looking.hold(3, group)
    looking.status = Status.QUEUING
    assert await looking.look("3") == [wire.MATE_STATUS_QUEUING]
    if while_asked:
        looking.now += 31
        looking.meanwhile = lambda: looking.reach("3", JobState.RUNNING)
    else:
        looking.reach("3", JobState.RUNNING)
    assert await looking.look("3") == [RUNNING]


async def test_nobody_is_asked_for_while_nobody_looks(looking):
    await looking.hears("1", 1)
    assert looking.asked == 0
    await looking.look("1")
    looking.now += mate_looks.LOOKS_ON
    await looking.hears("1", 2)
    assert looking.asked == 1
    looking.status = Status.QUEUING
    assert await looking.look("1") == [wire.MATE_STATUS_QUEUING]
    assert looking.asked == 2


async def test_what_others_say_of_jobs_that_are_no_mates_costs_nothing(looking):
    await looking.look("1")
    for number in range(1, 100):
        await looking.hears("1", number, "99")
        await looking.hears("77", number)
    assert looking.asked == 1


async def test_a_state_that_cannot_be_known_keeps_its_age(looking):
    record = looking.domain.jobs["1"]
    await looking.look("1")
    heard_at = record.heard_at
    looking.status = None
    for _ in range(3):
        looking.now += 31
        assert await looking.look("1") == [RUNNING]
        assert await looking.look("1") == [RUNNING]
    assert (looking.asked, record.heard_at) == (4, heard_at)


def test_who_settles_a_start_is_answered_for_that_though_news_are_acknowledged_in_the_same_turn(looking, monkeypatch):
    settled, news = SettleGroupStart("b/2/1", "2", "2", start=True), TellMember("2", "2", 1)
    answers = [Answer("b", settled, Settled(False)), Answer("b", news, MemberTold(True))]
    monkeypatch.setattr(looking.domain.decisions, "hear", lambda *_: looking.domain.decisions.do(answers) or True)
    assert looking.domain.questions.ask(Asked("b", settled)) == Settled(False)
