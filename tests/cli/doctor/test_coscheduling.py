"""What is said of [coscheduling] and of a peer's clock."""

from typing import Any

import pytest

from cosched.client import Domain
from cosched.doctor.coscheduling import check_coscheduling
from cosched.doctor.peers import check_clock, check_serving
from cosched.service.configuration import Configuration
from cosched.service.peers.peer_view import PeerView
from cosched.v1 import cluster_pb2
from cosched_adapters.findings import Finding, Grade


def wrong(coscheduling: dict[str, Any], kind: str = "local", peers: int = 1, **domain: Any) -> list[Finding]:
    return [finding for finding in findings(coscheduling, kind, peers, **domain) if finding.grade is not Grade.OK]


def findings(coscheduling: dict[str, Any], kind: str = "local", peers: int = 1, **domain: Any) -> list[Finding]:
    own = {"name": "a", "listen": "127.0.0.1:1", "plaintext": True, "state": "/tmp/state.db"} | domain
    sections = {"peer": [{"name": "b", "address": "127.0.0.1:2"}][:peers], "manager": {"kind": kind}}
    configuration = Configuration.model_validate({"domain": own, "coscheduling": coscheduling, **sections})
    return list(check_coscheduling(configuration))


@pytest.mark.parametrize(
    ("coscheduling", "subject", "line"),
    [
        ({"enabled": False}, "enabled", "enabled = true"),
        ({"scheme": "off"}, "enabled", 'scheme = "hold"'),
        ({"peer_timeout": 3}, "peer_timeout", "peer_timeout = 5"),
        ({"peer_grace": 0}, "peer_grace", 'peer_grace = "2m"'),
        ({"peer_grace": "29s"}, "peer_grace", 'peer_grace = "2m"'),
        ({"heartbeat_interval": 0}, "heartbeat_interval", "heartbeat_interval = 10"),
        ({"release_interval": 0}, "release_interval", 'release_interval = "20m"'),
        ({"release_jitter": 0}, "release_jitter", "release_jitter = 0.25"),
        ({"max_held_fraction": 0}, "max_held_fraction", "max_held_fraction = 0.5"),
        ({"max_held_fraction": 1}, "max_held_fraction", "max_held_fraction = 0.5"),
    ],
)
def test_a_setting_that_is_seldom_meant_is_a_warning_with_a_better_one(coscheduling, subject, line):
    (found,) = wrong(coscheduling)
    assert (found.grade, found.subject, found.lines) == ("warning", subject, (line,))
    assert found.file == "[coscheduling] of the domain's file"


@pytest.mark.parametrize(
    ("coscheduling", "said"),
    [
        ({"scheme": "meet"}, "meet, with b"),
        ({"scheme": "meet", "slots": False}, "meet, slots off, with b"),
        ({"scheme": "yield", "mate_budget": "0.2"}, "yield, mate_budget 0.2, with b"),
        ({"scheme": "meet", "mate_budget_share": "0.3"}, "meet, mate_budget_share 0.3, with b"),
    ],
)
def test_it_says_how_pairs_meet(coscheduling, said):
    assert next(found.found for found in findings(coscheduling) if found.subject == "scheme") == said


def test_the_defaults_are_right_but_without_peers_no_job_can_have_a_mate():
    assert wrong({}) == []
    (found,) = wrong({}, peers=0)
    assert found.subject == "scheme"
    assert found.lines[0] == "[[peer]]"


def test_a_user_s_own_service_gets_peers_by_a_command(tmp_path, monkeypatch):
    monkeypatch.setenv("COSCHED_STATE", str(tmp_path))
    (found,) = wrong({}, peers=0, socket=tmp_path / "a.sock")
    assert (found.subject, found.lines) == ("scheme", ("cosched peer add NAME [USER@]HOST",))


def test_where_nothing_holds_nothing_is_said_of_holds():
    assert wrong({"scheme": "yield", "release_interval": 0}) == []
    assert wrong({"scheme": "hold", "slots": True, "release_interval": 0}) == []
    assert [found.subject for found in wrong({"scheme": "yield", "max_yields": 3, "release_interval": 0})]
    assert [found.subject for found in wrong({"scheme": "yield", "release_interval": 0}, kind="slurm")]


def view(offset: float | None, doubt: float | None) -> PeerView:
    return PeerView("b", "127.0.0.1:2", cluster_pb2.PEER_STATE_REACHABLE, 0.0, 0.001, "", offset, doubt)


def test_a_clock_is_known_and_within_the_bound_or_there_is_no_agreed_start():
    assert check_clock(view(-0.0021, 0.0004), 0.5) == Finding(Grade.OK, "b clock", "2.1 ms behind, give or take 0.4")
    assert check_clock(view(0.6, 0.001), 0.5).grade is Grade.PROBLEM
    assert check_clock(view(0.0, 0.7), 0.5).grade is Grade.PROBLEM
    assert check_clock(view(None, None), 0.5).grade is Grade.WARNING
    assert check_clock(view(0.001, 0.001), 0).lines == ("max_clock_offset = 0.5",)


def test_what_the_running_service_cannot_reach_is_said_though_we_can():
    message = cluster_pb2.Domain(name="a")
    message.peers.add(name="b", state=cluster_pb2.PEER_STATE_REFUSED, problem="no peer a")
    message.peers.add(name="c", state=cluster_pb2.PEER_STATE_UNREACHABLE, problem="down")
    (found,) = check_serving("a", "b", Domain(message))
    assert found.found == "the running service says: refused: no peer a"
    assert list(check_serving("a", "b", None)) == []
