"""News of members: many in one message, from the turn in which jobs change to the answers, over real connections."""

import asyncio
from pathlib import Path
from typing import Any

import grpc
import pytest

from cosched.core.coscheduling.ledger import News
from cosched.core.effects import Answer, Call
from cosched.core.events import Answered, Asked, CallFailed
from cosched.core.protocol import Failure, Found, GetMateJobId, MateJobId, MemberTold, TellMember, named_mate
from cosched.service.api.coscheduling_api import CoschedulingApi
from cosched.service.peers.outcomes import ASKING, CallError
from cosched.service.peers.telling import MOST_OPEN, MemberNews
from cosched.service.tasks import Tasks
from cosched.service.wire import news_messages
from cosched.service.wire.errors import Refusal
from cosched.service.wire.fields import FieldError
from cosched.service.wire.news_messages import MAX_NEWS, read_heard, read_news, write_heard, write_news
from cosched.service.wire.pair_messages import GET_MATE_JOB_ID
from cosched.v1 import coscheduling_pb2 as wire
from tests.service.job_records import queued
from tests.service.on_wire import refused
from tests.service.peer_world import HASTY, a_world
from tests.service.test_metrics import value
from tests.service.test_translation import carried
from tests.service.test_vain_orders import Called
from tests.service.world import METRICS, domain_a

HERE, PEER = "eureka", "intrepid"
NEWS = [TellMember("4", "17", 1), TellMember("5", "18", 3)]
OURS, THEIRS = wire.JobRef(domain=HERE, job_id="4"), wire.JobRef(domain=PEER, job_id="17")


# On the wire


def test_news_of_one_turn_are_one_message_that_comes_back_as_it_was() -> None:
    [message] = write_news(NEWS, PEER, HERE)
    assert read_news(carried(message), HERE) == (PEER, NEWS)
    told = [MemberTold(True), MemberTold(False)]
    assert read_heard(carried(write_heard(told)), 2) == told
    assert not list(write_news([], PEER, HERE))


@pytest.mark.parametrize(("name", "messages"), [("7", 2), ("é" * 128, 10)])
def test_very_many_fit_several_messages_none_of_which_is_too_long(name: str, messages: int) -> None:
    news = [TellMember(name, name, number) for number in range(1, MAX_NEWS + 2)]
    written = list(write_news(news, PEER, HERE))
    assert len(written) == messages
    assert max(message.ByteSize() for message in written) <= news_messages.MAX_BYTES
    assert [told for message in written for told in read_news(message, HERE)[1]] == news


def one(**fields: object) -> wire.MemberNews:
    return wire.MemberNews(**{"job": OURS, "caller": THEIRS, "number": 1, **fields})


@pytest.mark.parametrize(
    ("news", "field"),
    [
        ([], "news"),
        ([one()] * (MAX_NEWS + 1), "news"),
        ([one(), one(job=THEIRS)], "news[1].job.domain"),
        ([wire.MemberNews(caller=THEIRS, number=1)], "news[0].job"),
        ([wire.MemberNews(job=OURS, number=1)], "news[0].caller"),
        ([one(), one(caller=wire.JobRef(domain="mira", job_id="1"))], "news[1].caller.domain"),
        ([one(number=0)], "news[0].number"),
    ],
)
def test_bad_news_name_their_field(news: list[wire.MemberNews], field: str) -> None:
    assert refused(read_news, wire.TellMembersRequest(news=news), HERE) == field


# To a peer

TAKES_NEWS = {wire.TellMembersRequest: wire.TellMembersResponse(heard=[True, False])}


async def test_what_a_turn_tells_a_peer_goes_over_in_one_call() -> None:
    async with a_world(direct=True, others=TAKES_NEWS) as world:
        assert await world.peers.tell_members("eureka", NEWS) == [MemberTold(True), MemberTold(False)]
        assert list(write_news(NEWS, PEER, HERE)) == world.eureka.seen


async def test_an_answer_to_less_than_was_told_breaks_the_protocol() -> None:
    async with a_world(direct=True, others=TAKES_NEWS) as world:
        assert await world.failure(NEWS[0]) is Failure.REFUSED
        assert "breaks the protocol: heard" in world.view().problem


async def test_a_version_that_does_not_know_the_call_is_not_told_until_its_connection_is_made_anew() -> None:
    async with a_world(direct=True) as world:
        assert await world.call(NEWS[0]) == MemberTold(True)
        assert not world.view().problem
        world.eureka.others |= TAKES_NEWS
        world.eureka.seen.clear()
        assert await world.peers.tell_members("eureka", NEWS) == [MemberTold(True)] * 2
        assert not world.eureka.seen, "it is not asked again"
        await world.eureka.restart()
        await world.peers.beat()
        assert await world.peers.tell_members("eureka", NEWS) == [MemberTold(True), MemberTold(False)]


async def test_a_peer_that_is_away_may_not_have_heard() -> None:
    async with a_world(others=TAKES_NEWS) as world:
        await world.eureka.stop()
        with world.waiting(HASTY):
            assert await world.failure(NEWS[0]) is Failure.UNREACHABLE


class Clients:
    """Peers that answer as they are told."""

    def __init__(self, answer: list[MemberTold] | CallError) -> None:
        self.answer = answer
        self.told: list[tuple[str, list[TellMember]]] = []

    async def tell_members(self, peer: str, news: list[TellMember]) -> list[MemberTold]:
        self.told.append((peer, news))
        if isinstance(self.answer, CallError):
            raise self.answer
        return self.answer[: len(news)]


@pytest.fixture
def called(tmp_path: Path) -> Any:
    return Called(domain_a(tmp_path))


@pytest.mark.parametrize(
    ("answer", "event"),
    [
        ([MemberTold(True), MemberTold(True)], lambda news, peer: Answered(news.caller, news, MemberTold(True), peer)),
        (CallError(Failure.BUSY, "is busy"), lambda news, peer: CallFailed(news.caller, news, Failure.BUSY, peer)),
    ],
)
async def test_the_core_hears_of_each_what_became_of_the_call(called: Called, monkeypatch, answer, event) -> None:
    clients, heard = Clients(answer), []
    domain, tasks = called.node.domain, Tasks(pytest.fail)
    called.node._submit(queued(2, 10, 10**6, called.node.world.now, named=named_mate("b", "q")))
    told = [("b", TellMember("7", "1", 4)), ("c", TellMember("3", "1", 4)), ("b", TellMember("8", "2", 1))]
    for peer, request in told:
        job = domain.core.jobs[request.caller]
        job.news = {**job.news, peer: News(request, 0)}
    monkeypatch.setattr(domain.decisions, "hear", lambda peer, event: heard.append((peer, event)))
    news = MemberNews(domain, clients, tasks)
    for peer, request in told:
        news.tell(Call(peer, request.caller, request))
    await tasks.settled()
    assert clients.told == [("b", [told[0][1], told[2][1]]), ("c", [told[1][1]])]
    assert sorted(heard, key=repr) == sorted(((peer, event(request, peer)) for peer, request in told), key=repr)


async def test_a_peer_that_is_silent_gets_few_calls_at_once_and_then_all_the_rest_in_one(called: Called) -> None:
    clients, tasks, silent = Clients([MemberTold(True)] * 100), Tasks(pytest.fail), asyncio.Event()
    answer = clients.tell_members

    async def tell_members(peer: str, news: list[TellMember]) -> list[MemberTold]:
        told = await answer(peer, news)
        await silent.wait()
        return told

    clients.tell_members = tell_members
    news = MemberNews(called.node.domain, clients, tasks)
    for number in range(1, 30):
        news.tell(Call("b", "1", TellMember("7", "1", number)))
        for _ in range(3):
            await asyncio.sleep(0)  # one turn after the other
    assert [len(told) for _, told in clients.told] == [1] * MOST_OPEN
    silent.set()
    await tasks.settled()
    assert [len(told) for _, told in clients.told] == [1] * MOST_OPEN + [29 - MOST_OPEN]


def test_news_that_are_told_again_and_again_are_in_no_story(called: Called) -> None:
    domain, request = called.node.domain, TellMember("7", "1", 1)
    domain.core.jobs["1"].news = {"b": News(request, 0)}
    before = len(called.node.store.events(0, (), (), -1))
    for _ in range(3):
        failed = CallFailed("1", request, Failure.UNREACHABLE, "b")
        domain.calls.failed(Call("b", "1", request), failed, "is away")
    heard = domain.jobs["1"].heard_at
    called.node.world.now += 5
    domain.calls.answered(Call("b", "1", request), MemberTold(True))
    assert not domain.core.jobs["1"].news
    assert len(called.node.store.events(0, (), (), -1)) == before
    assert domain.jobs["1"].heard_at == heard, "that tells nothing of its mate"


# From a peer


async def tell(called: Called, *jobs: str) -> list[bool]:
    [message] = write_news([TellMember(job, "9", 1) for job in jobs], "b", "a")
    return list((await called.api.TellMembers(message, None)).heard)


def missed() -> float:
    return value(METRICS, "cosched_peer_news_missed_total", peer="b")


async def test_news_of_jobs_with_which_none_here_starts_are_counted_and_cost_nothing(called: Called) -> None:
    METRICS.peer_news_missed("b").inc(0)
    before, counted = called.node.store.commits, missed()
    assert await tell(called, "1", *map(str, range(100, 500))) == [False] * 401
    assert called.node.store.commits == before
    assert missed() == counted + 401


@pytest.mark.parametrize("step", [-1, 1])
async def test_news_that_come_again_and_again_fill_no_story(called: Called, step: int) -> None:
    """Numbers that fall are no news, and are counted; by those that grow, the job asks again each time."""
    METRICS.peer_news_missed("b").inc(0)
    counted, store = missed(), called.node.store
    seen = []
    for numbers in (range(1), range(1, 200), range(200, 400)):
        [message] = write_news([TellMember("1", "7", 500 + step * number) for number in numbers], "b", "a")
        await called.api.TellMembers(message, None)
        seen.append((len(store.events(0, (), (), -1)), store.commits))
    told, commits = zip(*seen, strict=True)
    assert told == (told[0],) * 3
    assert (missed() - counted, commits[-1] - commits[0]) == ((399, 0) if step < 0 else (0, 2))


async def test_a_peer_speaks_for_its_own_jobs_only_and_for_those_of_one_domain(called: Called) -> None:
    method = CoschedulingApi.TellMembers.__wrapped__  # without the translation of refusals
    [message] = write_news([TellMember("1", "9", 1)], "c", "a")
    with pytest.raises(Refusal) as caught:
        await method(called.api, message, None)
    assert (caught.value.code, caught.value.reason) == (grpc.StatusCode.PERMISSION_DENIED, "PEER_UNKNOWN")
    message.news.append(one(job=wire.JobRef(domain="a", job_id="1"), caller=wire.JobRef(domain="b", job_id="9")))
    with pytest.raises(FieldError, match=r"news\[1\].caller.domain"):
        await method(called.api, message, None)


async def test_what_one_call_tells_is_on_record_by_one_transaction_before_the_answer(called, monkeypatch) -> None:
    core, before = called.node.domain.core, called.node.store.commits

    def hear(asked: Asked, _: int) -> list[Answer]:
        core.jobs["1"].hinted = True
        core.ledger.changed["1"] = None
        return [Answer(asked.peer, asked.request, MemberTold(asked.request.job == "1"))]

    monkeypatch.setitem(core.others, Asked, hear)
    assert await tell(called, "1", "1", "2") == [True, True, False]
    assert called.node.store.commits == before + 1
    assert called.node.store.job(1).job.hinted


async def test_a_running_job_that_asks_first_is_answered_for_later_and_once_to_each_who_waits(called, monkeypatch):
    domain, request = called.node.domain, TellMember("1", "9", 1)
    monkeypatch.setitem(domain.core.others, Asked, lambda *_: [])
    waiting = [asyncio.ensure_future(tell(called, "1")) for _ in range(3)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    while not (waits := domain.questions.late_answers._news.get(("b", request))) or len(waits) < 2:
        await asyncio.sleep(0)
    domain.questions.late_answers.tell(Answer("b", request, MemberTold(True)))
    assert [await one for one in waiting[1:]] == [[True], [True]]
    assert not domain.questions.late_answers._news


async def test_a_domain_that_asks_first_whether_an_earlier_mate_has_ended_says_so(called: Called, monkeypatch) -> None:
    monkeypatch.setattr(called.node.domain.questions, "ask", lambda *_: MateJobId(Found.BUSY, None))
    with pytest.raises(Refusal, match="whether an earlier mate has ended; try again soon") as caught:
        await called.order(GET_MATE_JOB_ID, GetMateJobId("8", "p", None, "u"), 1)
    assert (caught.value.code, caught.value.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, ASKING)
