"""Why a job waits: each reason is a message of its own, with one sentence and what changes it."""

from dataclasses import replace

import pytest

from cosched.core.coscheduling.membership import Lost, Membership
from cosched.core.coscheduling.peers import Presence
from cosched.core.job import JobState
from cosched.core.protocol import named_group
from cosched.core.settings import CoschedulingSettings, OnMemberLost, OnUnreachable, Scheme
from cosched.core.story import Why
from cosched.schedulers.external import EXTERNAL
from cosched.service.api.views import Views
from cosched.service.configuration_sections import Coscheduling
from cosched.service.domain import story
from cosched.service.manager.plans import ChosenSize, Plan
from cosched.service.peers.peer_view import PeerView
from cosched.service.planning.reasons import Reasons
from cosched.v1 import cluster_pb2
from tests.service.job_records import OF_CORE
from tests.service.world import domain_a

NOW = 1000


@pytest.fixture
def domain(tmp_path):
    """Job 1 of a runs on 8 of 10 nodes; job 2, of pair p, needs 4, as does job 3; job 2 of b needs 2, and holds."""
    world = domain_a(tmp_path, CoschedulingSettings(scheme=Scheme.HOLD)).world
    for name, job, nodes, pair in (("a", 1, 8, None), ("a", 2, 4, "p"), ("a", 3, 4, None)):
        world.nodes[name].submit(job, nodes, 1000, pair)
    world.run(1050)
    return world.nodes["a"].domain


def reason(domain, job="2", plan=None, **fields):
    record = domain.jobs[job]
    if (mate := fields.pop("mate", None)) is not None:
        record.job.group.jobs = {"b": mate}
    for name, value in fields.items():
        setattr(record.job if name in OF_CORE else record, name, value)
    return Reasons(domain).of(record, plan or Plan(NOW, places={"2": (1, 2), "3": (2, 2)}))


def test_the_queue(domain):
    busy = reason(domain)
    assert (busy.nodes_busy.required, busy.nodes_busy.available) == (4, 2)
    assert busy.text == "it needs 4 nodes, 2 are free"
    behind = reason(domain, "3", nodes=2)
    assert (behind.others_first.required, behind.others_first.available, behind.others_first.ahead) == (2, 2, 1)
    assert "policy" in behind.change
    assert reason(domain, "1").text == "it is about to start, and waits for its processes, which are being started"
    domain.started("1")
    assert reason(domain, "1") is None, "it runs"


def test_a_mate_that_was_submitted_after_the_job_has_asked_is_not_missing_any_more(domain):
    told = reason(domain, reason=Why.MATE_UNSUBMITTED, mate="9")
    assert told.mate_waits.mate.job_id == "9"
    assert "its mate, b:9, waits in the queue" in told.text


WORDS = {
    Why.MATE_QUEUING: ("mate_waits", "it could start, and lets others go first: its mate on b waits in the queue"),
    Why.MATE_UNSUBMITTED: ("mate_unsubmitted", "its mate on b is not submitted yet"),
    Why.MATE_UNKNOWN: ("no_such_mate", "b knows no such pair"),
    Why.WINDOW_AHEAD: ("window_ahead", "others of its group have started, and its window has not come yet"),
    Why.INSTANT_PASSED: ("instant_passed", "the instant that its group was given has passed"),
    Why.MEMBER_LOST: ("member_lost", "its mate was cancelled or has failed"),
    Why.SUCCESSOR: ("awaits_successor", "its mate was cancelled by its owner, who may submit another in its place"),
    Why.MATE_NOT_TOLD: ("peer_absent", "its mate's domain has not heard yet that it was queued again"),
    Why.PEER_UNREACHABLE: ("peer_absent", "b cannot be reached: the job starts alone"),
    Why.PEER_AWAY: ("peer_absent", "b gives no answer: the job starts alone"),
    Why.PEER_BUSY: ("peer_absent", "b is too busy to answer"),
    Why.PEER_REFUSED: ("peer_absent", "b refuses this domain: a misconfiguration"),
    Why.PEER_DRAINING: ("domain_drains", "b drains, and makes no pairs"),
    Why.DRAINING: ("domain_drains", "a drains, and makes no pairs"),
    story.HELD_CAP: ("holds_capped", "it would hold 4 nodes; 0 of at most 5 are held already"),
    story.TOO_LARGE: ("holds_capped", "it would hold 4 nodes; 0 of at most 5 are held already"),
    story.HELD_BUDGET: ("holds_over_budget", "it would hold 4 nodes; its account  has held 0.0 of at most 0.0"),
}


SHOWN = [why for why in Why if why.value[0].isupper()]  # by which a job holds or yields: the queue shows them


@pytest.mark.parametrize("word", [*SHOWN, story.HELD_CAP, story.TOO_LARGE, story.HELD_BUDGET])
def test_every_word_of_coscheduling_has_a_message(domain, word):
    told = reason(domain, reason=word)
    kind, text = WORDS[word]
    assert (told.WhichOneof("kind"), told.text[: len(text)]) == (kind, text)
    assert told.change


@pytest.mark.parametrize(
    ("rule", "then"),
    [
        ("start", "starts alone"),
        ("wait", "waits without nodes until its owner decides"),
        ("cancel", "is cancelled, too"),
    ],
)
def test_a_job_says_until_when_it_waits_for_another_mate_and_what_then(domain, rule, then):
    ledger, now = domain.core.ledger, domain.clock.now()
    ledger.settings = replace(ledger.settings, on_member_lost=OnMemberLost(rule))
    domain.jobs["2"].job.group.lost = {"b": Lost("9", now + 60, now + 10)}
    told = reason(domain, reason=Why.SUCCESSOR)
    until = domain.clock.to_wall(now + 60)
    assert (told.awaits_successor.until.seconds, told.awaits_successor.then) == (until, then)
    assert told.text.endswith(f": it waits for that until {story.utc(until)}, then {then}")
    assert Reasons(domain).successor(domain.jobs["2"]) == told.awaits_successor, "also before its turn"
    holding = reason(domain, reason=Why.SUCCESSOR, state=JobState.HOLDING, held_until=now + 1000)
    kept = domain.clock.to_wall(now + 10)
    assert holding.text.endswith(f" until {story.utc(until)}, with its nodes until {story.utc(kept)}, then {then}")
    assert domain.jobs["2"].job.keeps_nodes_until(now + 10) == now + 1000, "it could not give them back"
    domain.jobs["2"].job.group.lost = {"b": Lost("9", now, now)}
    assert Reasons(domain).successor(domain.jobs["2"]) is None


def test_a_job_that_has_ended_waits_for_nothing(domain):
    domain.jobs["2"].user_hold = True
    views, record = Views(domain, domain.clock), domain.jobs["2"]
    assert views.job(record).reason == story.HELD_BY_USER
    domain.end("2", JobState.CANCELLED, "by u")
    assert (views.job(record).state, views.job(record).reason) == (JobState.CANCELLED, "")


def told_of_b(domain):
    """What `cosched domains` and the page say of the peer."""
    view = PeerView("b", "b:7701", cluster_pb2.PEER_STATE_UNREACHABLE, 0.0, None, "")
    (peer,) = Views(domain, domain.clock).domain("local", "", 0, [view], Coscheduling()).peers
    return peer.problem


@pytest.mark.parametrize("rule", OnUnreachable)
def test_what_a_job_does_without_its_mate_s_domain_is_one_sentence_everywhere(domain, rule):
    """It says until when it waits (`peer_grace`), and what it does then (`on_peer_unreachable`)."""
    does = {"start": "starts alone", "hold": "holds its nodes", "yield": "yields its turn"}[rule.value]
    then = f'{does} (on_peer_unreachable = "{rule.value}")'
    ledger = domain.core.ledger
    ledger.settings = replace(ledger.settings, on_peer_unreachable=rule, peer_grace=120)
    presence, now = domain.presence, domain.clock.now()
    domain.core.peers.known["b"] = Presence(away_since=now - 5)
    waits = f"waits until {story.utc(domain.clock.to_wall(now + 115))}, then {then}"
    assert presence.without("b") == waits
    assert told_of_b(domain) == f"a job that becomes ready {waits}"
    assert reason(domain, reason=Why.PEER_AWAY).text == f"b gives no answer: the job {waits}"
    domain.core.peers.known["b"] = Presence()
    assert presence.without("b").startswith(f"waits until {story.utc(domain.clock.to_wall(now + 120))}")
    domain.core.peers.known["b"] = Presence(away_since=now - 120)
    assert told_of_b(domain) == f"a job that becomes ready {then}"
    assert reason(domain, reason=Why.PEER_UNREACHABLE).text == f"b cannot be reached: the job {then}"
    domain.core.peers.known["b"] = Presence(away_since=now - 5, left=True)
    gone = f"stopped at {story.utc(domain.clock.to_wall(now - 5))}, and said that it would be back"
    assert told_of_b(domain) == f"{gone}; a job that becomes ready {waits}"
    assert reason(domain, reason=Why.PEER_AWAY).text == f"b {gone}: the job {waits}"
    domain.core.peers.known["b"] = Presence(away_since=now - 5, left=True, back_by=now + 600)
    assert f"{gone} by {story.utc(domain.clock.to_wall(now + 600))}; " in told_of_b(domain)
    assert presence.silent("b", "connection refused").startswith(f"b {gone} by ")
    assert presence.silent("c", "connection refused") == "c gives no answer: connection refused"
    domain.core.peers.known["b"] = Presence(drains_until=now + 60)
    assert reason(domain, reason=Why.PEER_DRAINING).text.startswith("b drains")


def test_a_group_goes_on_without_the_member_whose_domain_is_away(domain):
    domain.core.peers.known["c"] = Presence(away_since=0)
    group = Membership.named("a", named_group("g", ("b", "c")))
    told = reason(domain, reason=Why.PEER_AWAY, group=group)
    assert told.peer_absent.domain == "c"
    assert told.text.startswith("c gives no answer: the job starts without that member")
    lost = reason(domain, reason=Why.MEMBER_LOST, group=group)
    assert lost.text == "another member of its group was cancelled or has failed"


def test_a_job_that_can_never_hold_waits_for_that_reason(tmp_path):
    node = domain_a(tmp_path, CoschedulingSettings(scheme=Scheme.HOLD))
    node.submit(1, 6, 1000, "p")
    node.world.run(1050)
    domain = node.domain
    assert domain.jobs["1"].reason == "TooLargeToHold"
    assert [event.detail.get("too_large") for event in domain.store.events(0, [1], [], 10)][-1] is True


def test_a_job_that_can_never_hold_is_told_so(domain):
    told = reason(domain, reason=story.TOO_LARGE, nodes=6)
    assert told.text == "it is too large to hold here (6 nodes, at most 5 may be held): it only yields"
    assert told.change == "max_held_fraction of [coscheduling]; cosched unlink 2 lets it start alone"


def test_a_job_whose_size_is_chosen_would_hold_the_size_of_the_plan(domain):
    told = reason(domain, plan=Plan(NOW, sizes={"2": ChosenSize(7, "")}), reason=story.TOO_LARGE)
    assert told.text == "it is too large to hold here (7 nodes, at most 5 may be held): it only yields"
    assert told.holds_capped.required == 7


def test_a_job_that_has_yielded_and_could_not_start_now_anyway(domain):
    later = Plan(NOW, starts={"2": NOW + 500})
    assert reason(domain, plan=later, reason=Why.MATE_QUEUING).WhichOneof("kind") == "nodes_busy"
    assert reason(domain, plan=later, reason=Why.MATE_UNSUBMITTED).WhichOneof("kind") == "mate_unsubmitted"


def test_what_holds(domain):
    held = {"held_until": 2000, "held_since": 1000}
    told = reason(domain, reason=Why.MATE_QUEUING, state=JobState.HOLDING, mate="7", **held)
    assert (told.mate_waits.held, told.mate_waits.held_until.seconds, told.mate_waits.mate.job_id) == (4, 2000, "7")
    assert told.text == "it holds 4 nodes until 1970-01-01 00:33:20 UTC at most: its mate, b:7, waits in the queue"
    assert "release_interval" in told.change


def test_what_is_none_of_its_mates(domain):
    assert reason(domain, state=JobState.READY).asks_mate.domains == ["b"]
    assert reason(domain, state=JobState.QUEUED, slot=5000).has_slot.at.seconds == 5000
    assert reason(domain, user_hold=True).change == "cosched release 2"
    assert reason(domain, cancelled_by="u").WhichOneof("kind") == "is_cancelled"


def test_the_batch_systems_own(domain):
    domain.kind = EXTERNAL
    told = reason(domain, "3", Plan(NOW, words={"3": "Dependency"}))
    assert (told.batch_system_says.word, told.text) == ("Dependency", "the batch system lets it wait: Dependency")
