"""Links are announced to the mates' domains, again if these cannot say yet what they know of a mate."""

from pathlib import Path
from typing import Any

import pytest

from cosched.core.events import Unlinked
from cosched.core.protocol import Failure, Found, GetMateJobId, GetMember, MateJobId, Named, named_group, named_mate
from cosched.core.settings import CoschedulingSettings, Scheme
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.peers import announcing
from cosched.service.peers.announcing import Announcer
from cosched.service.peers.outcomes import ASKING
from cosched.service.peers.peers import CallError
from cosched.service.tasks import Tasks
from cosched.service.wire.message_parts import FOUND
from tests.service.job_records import queued
from tests.service.replies import UNSUBMITTED, mate_is
from tests.service.world import World, domain_a
from tests.waiting import until

UNKNOWN, MATE = UNSUBMITTED, mate_is("7")
AWAY = CallError(Failure.UNREACHABLE, "is away")
BUSY = CallError(Failure.BUSY, "asks first", ASKING)


class Clients:
    """Answers as it is told; the last answer is given for ever."""

    def __init__(self, *answers: MateJobId | CallError) -> None:
        self._answers = list(answers)
        self.asked: list[GetMateJobId] = []

    async def call(self, peer: str, question: GetMateJobId) -> MateJobId:
        assert peer == "b"
        self.asked.append(question)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, CallError):
            raise answer
        return answer


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(announcing, "AGAIN", 0.001)
    return domain_a(tmp_path, CoschedulingSettings(scheme=Scheme.HOLD), "abc").world


def submit(world: World, group: Named | None = None, **named: Any) -> LiveDomain:
    """A domain with one job, 1."""
    node = world.nodes["a"]
    node.run_times["1"] = 10
    node._submit(queued(1, 3, 100, world.now, owner="ann", named=group or named_mate("b", **named)))
    return node.domain


def announcer(domain: LiveDomain, peers: Clients) -> Announcer:
    return Announcer(domain, peers, Tasks(pytest.fail))


async def announced(domain: LiveDomain, peers: Any) -> Announcer:
    found = announcer(domain, peers)
    await found.announce(domain.jobs["1"])
    return found


async def settled(announcer: Announcer) -> None:
    """Nothing is to be announced again."""
    await until(lambda: not announcer._again)


async def test_a_mate_named_by_its_id_is_asked_for_until_its_domain_has_said_what_it_knows(world: World) -> None:
    domain, peers = submit(world, mate="7"), Clients(UNKNOWN, AWAY, UNKNOWN, MATE)
    found = await announced(domain, peers)
    assert domain.jobs["1"].lookup == FOUND[Found.UNSUBMITTED]
    await settled(found)
    assert peers.asked == [GetMateJobId("1", None, "7", "ann")] * 4
    assert domain.jobs["1"].lookup == FOUND[Found.MATE]


@pytest.mark.parametrize("answer", [UNKNOWN, AWAY])
async def test_a_pair_by_name_is_announced_once_as_its_other_job_will_be(world: World, answer) -> None:
    peers = Clients(answer)
    domain = submit(world, pair="p")
    found = await announced(domain, peers)
    await settled(found)
    assert peers.asked == [GetMateJobId("1", "p", None, "ann")]


async def test_a_domain_that_has_to_ask_first_is_asked_again_soon_and_again_after_the_submission(world, monkeypatch):
    monkeypatch.setattr(announcing, "SOON", (0.001, 0.001))
    domain, peers = submit(world, pair="p"), Clients(*[BUSY] * 7, MATE)
    found = announcer(domain, peers)
    assert not await found.announce(domain.jobs["1"]), "that counts as no answer"
    assert len(peers.asked) == 3
    await settled(found)
    assert len(peers.asked) == 8
    assert domain.jobs["1"].lookup == FOUND[Found.MATE]


async def test_a_link_that_is_dissolved_is_announced_no_more(world: World) -> None:
    domain, peers = submit(world, mate="7"), Clients(UNKNOWN)
    found = await announced(domain, peers)
    with domain.turns.take():
        domain.decisions.feed(Unlinked("1"))
    await settled(found)


class Domains:
    """Members' domains: b gives an answer to every third question only, c to each."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str | None]] = []

    async def call(self, peer: str, question: GetMember) -> MateJobId:
        self.asked.append((peer, question.member))
        if peer == "b" and len([asked for asked, _ in self.asked if asked == "b"]) % 3:
            raise AWAY
        return MATE if peer == "b" else UNKNOWN


async def test_a_member_named_by_its_id_is_asked_for_until_its_domain_has_said_what_it_knows(world: World) -> None:
    domain, peers = submit(world, named_group("g", ("b", "c"), ids=(("b", "7"),))), Domains()
    found = await announced(domain, peers)
    await settled(found)
    assert peers.asked == [("b", "7"), ("c", None)] * 3
    assert domain.jobs["1"].mates == {"b": "7", "c": None}
    assert domain.jobs["1"].named == named_group("g", ("b", "c"))


async def test_after_a_restart_it_is_asked_for_again(world: World) -> None:
    domain, peers = submit(world, named_group("g", ("b", "c"), ids=(("b", "7"),))), Domains()
    found = announcer(domain, peers)
    found.resume()
    await settled(found)
    assert len(peers.asked) == 6


async def test_after_a_restart_what_was_not_answered_is_announced(world: World) -> None:
    domain, peers = submit(world, mate="7"), Clients(AWAY)
    before = announcer(domain, peers)
    await before.announce(domain.jobs["1"])
    await before._tasks.close()
    peers = Clients(MATE)
    again = announcer(domain, peers)
    again.resume()
    await settled(again)
    assert len(peers.asked) == 1
    again.resume()
    assert not again._again
