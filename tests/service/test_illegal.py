"""No message of a peer ends a service: what no state of a job allows is refused, logged, and counted for that peer."""

from pathlib import Path
from typing import Any

import grpc
import pytest

from cosched.core.coscheduling.ledger import IllegalEvent
from cosched.core.coscheduling.starts.promises import Promises
from cosched.core.effects import Call
from cosched.core.events import CallFailed, ReleaseDue
from cosched.core.job import JobState
from cosched.core.protocol import Failure, GetMateStatus, GetMember, ProposeGroupStart
from cosched.service.wire.errors import Refusal
from tests.service.test_group_questions import DOMAINS, PROPOSE, member
from tests.service.test_metrics import samples
from tests.service.world import Node, domain_a


@pytest.fixture
def node(tmp_path: Path, calls):  # noqa: ARG001
    """Domain a, whose job 1 is in group g with b's job 7. Nothing that it sends arrives."""
    node = domain_a(tmp_path, names="abc")
    node.run_times = {"1": 100}
    node._submit(member(1))
    node.ask(GetMember("7", "g", DOMAINS, "u"))
    return node


def never(*_: Any) -> None:
    raise IllegalEvent("that cannot be")


def illegal(node: Node) -> float:
    return samples(node.domain.metrics).get(("cosched_peer_illegal_total", (("peer", "b"),)), 0)


def test_a_request_that_is_illegal_is_refused(node: Node, monkeypatch, caplog) -> None:
    before = illegal(node)
    with monkeypatch.context() as patched:
        patched.setattr(Promises, "_vote", never)
        with pytest.raises(Refusal) as caught:
            node.ask(PROPOSE)
    assert (caught.value.code, caught.value.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "ILLEGAL")
    assert illegal(node) == before + 1
    assert "peer b has said what cannot be: that cannot be" in caplog.text
    assert "ProposeGroupStart" in caplog.text
    assert node.ask(PROPOSE) is not None
    assert node.domain.state("1") is JobState.READY


def test_what_our_scheduler_does_for_a_request_may_be_illegal(node: Node, monkeypatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(Promises, "_answer", never)
        before = illegal(node)
        node.domain.core.jobs["1"].state = JobState.QUEUED  # whatever has led to that
        node.ask(PROPOSE)
    assert illegal(node) == before + 1


def test_an_answer_that_is_illegal_is_ignored(node: Node, monkeypatch) -> None:
    request = ProposeGroupStart("a/1/1", "7", "1", 0, 5)
    monkeypatch.setattr(node.domain.core, "handle", never)
    before = illegal(node)
    node.domain.calls.answered(Call("b", "1", request), None)
    node.domain.calls.failed(Call("b", "1", request), CallFailed("1", request, Failure.BUSY, "b"), "busy")
    assert illegal(node) == before + 2


def test_what_is_illegal_without_a_peer_is_a_fault_of_this_domain(node: Node, monkeypatch) -> None:
    node.ask(GetMateStatus("1", "7"))
    monkeypatch.setattr(node.domain.core, "handle", never)
    with pytest.raises(AssertionError, match="broken"):
        node.domain.turns.happen(node.domain.decisions.feed, ReleaseDue("1"))
