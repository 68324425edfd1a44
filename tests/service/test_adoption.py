"""Adoption by consent, at a domain with its database and beside a batch system: what is on record counts."""

from collections.abc import Callable
from pathlib import Path

import pytest

from cosched.core.events import Asked
from cosched.core.job import JobState
from cosched.core.protocol import Found, GetMateJobId, GetMember, MateJobId, MateProblem, Named
from cosched.service.manager.queues import BatchQueue
from cosched.service.store import AuditRecord, Store
from cosched_adapters.batch_system import LoneJob
from tests.service.job_records import queued
from tests.service.offered_site import NOW, Site
from tests.service.replies import mate_is
from tests.service.world import SCRIPT, Node, domain_a

UNKNOWN = MateJobId(Found.NO_PAIR, None, MateProblem.UNKNOWN)
ROW = AuditRecord(NOW, "b", "plaintext", "GetMateJobId", "3", "OK", "adopted by b:9")


@pytest.fixture
def node(tmp_path: Path):
    """Domain a with jobs 1 and 2, which may be adopted; the user holds job 2 back. Job 3 may not be."""
    node = domain_a(tmp_path)
    node.run_times = {"9": 10**6}
    node._submit(queued(9, 10, 10**6, node.world.now))  # it has all nodes
    with node.domain.turns.take():
        for number, (held, adoptable) in enumerate(((False, True), (True, True), (False, False)), 1):
            record = queued(number, 2, 9, node.world.now, user_hold=held, adoptable=adoptable)
            node.domain.add(record, SCRIPT)
            node.domain.admit(record)
    return node


def mate(node: Node, job: str, owner: str = "u") -> object:
    return node.domain.questions.ask(Asked("b", GetMateJobId(f"of {job}", None, job, owner)), ROW)


def member(node: Node, job: str) -> object:
    return node.domain.questions.ask(Asked("b", GetMember("9", "g", ("a", "b"), "u", member=job)), ROW)


def audited(store: Store) -> list[tuple[str, str]]:
    return store._connection.execute("SELECT method, detail FROM audit").fetchall()


@pytest.mark.parametrize("ask", [mate, member])
def test_the_consent_of_an_owner_outlives_the_service_and_each_adoption_is_audited_once(node: Node, ask) -> None:
    node.restart()
    assert node.store.job(1).job.adoptable
    assert ask(node, "3") == UNKNOWN
    assert audited(node.store) == []
    assert ask(node, "1") == ask(node, "1") == mate_is("1")
    assert audited(node.store) == [("GetMateJobId", "adopted by b:9")]
    assert node.store.job(1).paired, "it names somebody now"
    [event] = node.store.events(0, [1], [], 99)[-1:]
    assert event.detail["adopted"]


def test_a_job_that_its_user_holds_back_is_adopted_once_it_is_released_also_after_a_restart(node: Node) -> None:
    for _ in range(2):
        assert mate(node, "2") == UNKNOWN
        node.restart()
    with node.domain.turns.take():
        node.domain.jobs["2"].user_hold = False
        node.domain.journal.save(node.domain.jobs["2"])
    assert mate(node, "2") == mate_is("2")


@pytest.mark.parametrize("forgotten", [False, True])
def test_how_a_job_has_ended_is_told_to_those_alone_who_might_have_adopted_it(node: Node, forgotten: bool) -> None:
    for job in ("1", "3"):
        node.domain.end(job, JobState.CANCELLED)
        if forgotten:
            node.domain.core.forget(node.domain.core.jobs[job])
    assert mate(node, "1").problem is MateProblem.CANCELLED
    assert mate(node, "1", "eve") == mate(node, "3") == mate(node, "4") == UNKNOWN
    node.domain.core.names.adopting = frozenset("b")
    assert mate(node, "3").problem is MateProblem.CANCELLED


class System:
    """A batch system with job 3 of ann, which names nobody."""

    def __init__(self, site: Site, job: LoneJob) -> None:
        self._site, self._job = site, job

    async def look(self, _: float = 0.0) -> bool:
        return True

    async def adopt(self, job_id: str, named: Named, may: Callable[[LoneJob], bool]) -> bool:
        if not may(self._job):
            return False
        self._site.offered.submitted(queued(int(job_id), 2, 0, NOW, owner="ann", named=named))
        return True


@pytest.mark.parametrize(
    ("job", "adopting", "adopted"),
    [
        (LoneJob("ann"), "", False), (LoneJob("ann", adoptable=True), "", True), (LoneJob("ann"), "b", True),
        (LoneJob("eve", adoptable=True), "b", False), (LoneJob("ann", adoptable=True, held=True), "b", False),
    ],
)  # fmt: skip
async def test_beside_a_batch_system_the_same_is_asked_of_the_job_that_it_finds(store, job, adopting, adopted):
    site = Site(store)
    site.domain.core.names.adopting = frozenset(adopting)
    queue = BatchQueue(site.domain, System(site, job), ["b"])
    question = GetMateJobId("9", None, "3", "ann")
    assert await queue.look_for_caller("b", question, ROW)
    answer = site.domain.questions.ask(Asked("b", question), ROW)
    assert answer == (mate_is("3") if adopted else MateJobId(Found.NO_PAIR, None, MateProblem.NOT_WAITING))
    assert audited(store) == ([("GetMateJobId", "adopted by b:9")] if adopted else [])
    assert any(event.detail.get("adopted") for event in store.events(0, [3], [], 99)) == adopted


async def test_a_job_that_a_batch_system_does_not_let_be_adopted_is_not_adopted_here_either(store: Store) -> None:
    site = Site(store)
    site.domain.core.names.adopting = frozenset("b")
    site.offered.submitted(queued(3, 2, 0, NOW, owner="ann"))
    queue = BatchQueue(site.domain, System(site, LoneJob("ann", held=True)), ["b"])
    question = GetMateJobId("9", None, "3", "ann")
    assert await queue.look_for_caller("b", question, ROW)
    assert site.domain.questions.ask(Asked("b", question), ROW).found is Found.NO_PAIR
    assert site.domain.jobs["3"].mates == {}
