"""What a glance at the page says, and the problems below it, from made-up situations."""

from typing import Any

import pytest

from cosched.client import Domain
from cosched.core.job import JobState
from cosched.core.protocol import FOREVER
from cosched.core.story import Why
from cosched.service.page.listing import Sums
from cosched.service.page.overview import _of_peer
from cosched.service.page.problems import Problem, Situation, Weight, glance, problems
from cosched.service.store import JobRecord
from cosched.v1 import cluster_pb2, coscheduling_pb2
from tests.service.configured import PAGE, PEER, Read
from tests.service.test_page_words import INSTANT, NODES, NOW, holding, record, stamp


@pytest.fixture
def found(read: Read):
    """The problems of a situation that is quiet but for what is said of it."""
    configuration = read(PAGE + PEER)

    def make(*active: JobRecord, peer: Any = None, stalled: str | None = None, seen: bool = True, **domain: Any):
        told = cluster_pb2.Domain(name="intrepid", max_held_fraction="0.5", nodes=domain.pop("nodes", NODES), **domain)
        told.peers.add(name="eureka", **(peer or {"state": cluster_pb2.PEER_STATE_REACHABLE}))
        sums = Sums()
        for job in active:
            sums.add(job)
        sees, without = (lambda _: seen), (lambda _: "waits until 12:05, then starts alone")
        return problems(Situation(Domain(told), configuration, stalled, sums, sees, without, NOW, INSTANT))

    return make


def said(found: list[Problem]) -> str:
    return " ".join(f"{problem.what} {problem.todo}" for problem in found)


def unsubmitted(id: int, since: int) -> Any:
    return record(id, reason=Why.MATE_UNSUBMITTED, submitted_at=INSTANT - since)


def away(**fields: Any) -> dict[str, Any]:
    return {"peer": {"state": cluster_pb2.PEER_STATE_UNREACHABLE, "since": stamp(-700), **fields}}


HERE, THERE = holding(1, 30), record(2, mate_status=coscheduling_pb2.MATE_STATUS_HOLDING)
APART = "no pair with it starts together"
REACHABLE, DRAINED = cluster_pb2.PEER_STATE_REACHABLE, cluster_pb2.Drain(since=stamp(-60), until=stamp(60))
SITUATIONS: dict[str, tuple[tuple[Any, ...], dict[str, Any], str]] = {
    "quiet": ((), {}, "All is well: eureka answers"),
    "jobs wait": ((record(), THERE), {}, "All is well: eureka answers"),
    "a hold of a minute": ((holding(1, 60),), {}, "All is well: eureka answers"),
    "no peer is configured": ((), {"peers": False}, "No peer is configured, so no job here has a mate"),
    "nothing is written": ((), {"stalled": "the disk is full"}, "This domain does not work: no job starts"),
    "no answer": ((record(),), away(), f"eureka gives no answer: {APART}"),
    "stopped in order": ((), away(stopped_at=stamp(-9)), "eureka stopped in order, and will be back"),
    "back in time": ((), away(stopped_at=stamp(-9), back_by=stamp(9)), "eureka stopped in order, and will be back"),
    "late": ((), away(stopped_at=stamp(-9), back_by=stamp(-3)), f"eureka is not back in time: {APART}"),
    "refused": (
        (), {"peer": {"state": cluster_pb2.PEER_STATE_REFUSED, "problem": "unknown certificate"}},
        f"eureka and this domain refuse each other: {APART}",
    ),
    "not yet heard": ((), {"peer": {"state": 0}}, "eureka has not been heard yet"),
    "it drains": (
        (), {"peer": {"state": REACHABLE, "problem": "drains, and makes no pairs until 12:30"}}, "eureka drains"
    ),
    "it answers, and does not serve": (
        (), {"peer": {"state": REACHABLE, "problem": "it says that it does not serve now"}},
        "eureka does not work as it should",
    ),
    "clocks differ": (
        (), {"peer": {"state": REACHABLE, "clock_offset": 2.0}},
        "The clock of eureka is off: pairs agree on no instant",
    ),
    "drained here": ((), {"drain": DRAINED}, "This domain drains: no pairs are made"),
    "drained too long": (
        (), {"drain": cluster_pb2.Drain(since=stamp(-60), until=stamp(-30))},
        "The end of the drain here is overdue: no pairs are made",
    ),
    "the cap": ((), {"nodes": cluster_pb2.NodeCounts(idle=4, held=4)}, "Holds keep as many nodes as they may"),
    "a long hold": ((holding(1, 1200),), {}, "Nodes held idle for up to 20 min: 2"),
    "each other": ((HERE, THERE), {}, "Holds here and on eureka wait for each other"),
    "no such mate": ((record(reason=Why.MATE_UNKNOWN),), {}, "1 job with mates that will not run"),
    "forgotten mates": ((unsubmitted(1, 7200), unsubmitted(2, 9)), {}, "1 job long without a submitted mate"),
    "much at once": (
        (holding(1, 1200), unsubmitted(3, 7200)), {**away(), "stalled": "the disk is full"},
        "This domain does not work: no job starts; 3 more",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("active", "known", "said"), SITUATIONS.values(), ids=SITUATIONS)
def test_a_glance_says_the_worst_first(found, active: tuple[Any, ...], known: dict[str, Any], said: str):
    peers, known = known.get("peers", True), {key: value for key, value in known.items() if key != "peers"}
    told = cluster_pb2.Domain(peers=[cluster_pb2.Peer(name="eureka")] if peers else [])
    assert glance(Domain(told), found(*active, **known)) == said


def test_nothing_is_wrong(found):
    assert found(record(), holding(2, 30), peer={"state": REACHABLE, "clock_offset": -0.4}) == []


def test_the_worst_comes_first(found):
    problems = found(holding(1, 900), stalled="the disk is full", drain=cluster_pb2.Drain(since=stamp(-60)))
    assert [problem.weight for problem in problems] == sorted(problem.weight for problem in problems)
    assert problems[0].what == "This domain does not work: the disk is full."


def test_a_peer_that_gives_no_answer(found):
    (problem,) = found(record(), record(2, state=JobState.RUNNING), **away(since=stamp(-720)))
    assert problem.what == "eureka gives no answer for 12 min; jobs here that wait for its jobs: 1."
    assert problem.todo.endswith("A job that becomes ready waits until 12:05, then starts alone.")


def test_a_peer_that_has_said_goodbye(found):
    known = away(stopped_at=stamp(-720))
    (problem,) = found(record(), **known)
    said = "eureka stopped in order 12 min ago, and said that it would be back soon"
    assert problem.what == f"{said}; jobs here that wait for its jobs: 1."
    assert problem.todo == "A job that becomes ready waits until 12:05, then starts alone."
    assert problem.weight is Weight.HURTS
    eureka = cluster_pb2.Peer(name="eureka", **known["peer"])
    (fact,) = _of_peer(Domain(cluster_pb2.Domain(peers=[eureka])).peers[0], NOW)
    assert fact[:2] == ("Stopped", "12 min ago, said it would be back soon")


IDLE, FINE = "Held idle for mates:", {"state": REACHABLE}
LATE = cluster_pb2.Drain(since=stamp(-7200), until=stamp(-3600))
REFUSED = {"state": cluster_pb2.PEER_STATE_REFUSED, "since": stamp(-5), "problem": "unknown certificate"}
TOLD: list[tuple[tuple[Any, ...], dict[str, Any], list[str]]] = [
    ((), {"peer": REFUSED}, ["unknown certificate", "cosched doctor"]),
    ((), {"peer": {**FINE, "clock_offset": -0.9}}, ["900 ms off"]),
    ((holding(7, 1200), holding(8, 60)), {}, [f"{IDLE} 4 nodes, by 2 jobs; the longest hold has lasted 20 min."]),
    ((holding(7, 1200),), {}, ["cosched release 7"]),
    ((holding(7, 1200, FOREVER),), {}, ["It never ends by itself"]),
    ((holding(1, 10), THERE), {}, ["Holds here for eureka: 1; holds there for this domain: 1."]),
    ((), {"nodes": cluster_pb2.NodeCounts(idle=2, busy=2, held=4)}, ["Holds keep 4 nodes, as many as they may"]),
    ((), {"drain": LATE}, ["was expected 1 h ago", "cosched resume"]),
    ((unsubmitted(6, 7200), unsubmitted(7, 100)), {}, ["the longest has waited for 2 h"]),
]


@pytest.mark.parametrize(("active", "known", "parts"), TOLD)
def test_a_problem_is_told_with_what_to_do(found, active: tuple[Any, ...], known: dict[str, Any], parts: list[str]):
    text = said(found(*active, **known))
    assert [part for part in parts if part not in text] == []


def test_jobs_that_the_viewer_may_not_see_are_not_named(found):
    problems = found(holding(71, 1200), record(91, reason=Why.MATE_UNKNOWN), unsubmitted(61, 7200), seen=False)
    assert [problem.job for problem in problems] == [None, None, None]
    assert not {"61", "71", "91"} & set(said(problems).replace(".", " ").split())
