"""What the core records, told for people."""

import json

import pytest

from cosched.core.effects import Record
from cosched.core.job import JobState
from cosched.core.protocol import FOREVER, Status
from cosched.core.story import ENDED, What, Why
from cosched.service.domain import story
from cosched.service.domain.story import Noted
from cosched.words.reasons import WHY

QUEUES, GROUP = {"why": "MateQueuing", "yields": 1}, {"group": "g"}


def told(what: str, **detail: object) -> str:
    return story.text(what, detail, lambda instant: f"t{instant}")


@pytest.mark.parametrize(
    ("line", "what", "detail"),
    [
        ("submitted", "submitted", {"peer": None}),
        ("submitted; its mate: the job of pair p on b", "submitted", {"peer": "b", "pair": "p"}),
        ("submitted; its mate: b:7", "submitted", {"peer": "b", "mate": "7"}),
        ("is ready on 4 nodes", "is ready", {"nodes": 4}),
        ("holds 4 nodes until t9 at most: its mate waits in the queue", "holds", {**QUEUES, "until": 9, "nodes": 4}),
        (
            "holds 4 nodes until its mate can start: its mate is not submitted yet",
            "holds",
            {"why": "MateUnsubmitted", "until": FOREVER, "nodes": 4},
        ),
        ("yields: its mate waits in the queue", "yields", QUEUES),
        (
            "yields (yield 8): its mate waits in the queue; it would have held, but too many nodes are held already",
            "yields",
            {"why": "MateQueuing", "yields": 8, "capped": True},
        ),
        ("started: asked by b", "started", {"why": "asked by b"}),
        ("started: its mate's domain cannot be reached", "started", {"why": "PeerUnreachable"}),
        ("started: late, 5 s late", "started", {"why": "late", "gap_s": 5}),
        ("failed: exit code 3", "failed", {"why": "exit code 3"}),
        ("completed", "completed", {}),
        ("linked with b:7", "is linked", {"peer": "b", "mate": "7"}),
        ("linked with b:p", "is linked", {"peer": "b", "pair": "p"}),
        ("linked with b:7 instead of p@b", "is linked", {"peer": "b", "mate": "7", "was": "p@b"}),
        ("starts alone if its mate b:7 does not exist", "is linked", {"peer": "b", "mate": "7", "or_alone": True}),
        ("waits if its mate b:p does not exist", "is linked", {"peer": "b", "pair": "p", "or_alone": False}),
        ("unlinked from b", "is unlinked", {"peer": "b"}),
        ("gets no answer of b: down", "gets no answer", {"peer": "b", "problem": "down"}),
        ("has a slot at t9 with b:7", "has a slot", {"slot": 9, "peer": "b", "mate": "7"}),
        (
            "lost its slot at t9: its mate's domain has dropped it",
            "lost its slot",
            {"slot": 9, "why": "its mate's domain has dropped it"},
        ),
        ("started: at its slot", "started", {"why": "at its slot"}),
        (
            "started: its mate's domain has proposed this start, and does not answer",
            "started",
            {"why": "its proposer does not answer"},
        ),
        ("started: its proposer does not answer", "started", {"why": "its proposer does not answer", "group": "g"}),
        ("started without its mate on b", "started without a member of its group", {"peer": "b"}),
        (
            "started without the member of its group on b",
            "started without a member of its group",
            {"peer": "b", "group": "g"},
        ),
        ("something new", "something new", {}),
        ("submitted; its group g has jobs on b and c, too", "submitted", {"group": "g", "others": ["b", "c"]}),
        (
            "holds 4 nodes until its group can start: the member of its group on b is not submitted yet",
            "holds",
            {"group": "g", "why": "MateUnsubmitted", "until": FOREVER, "nodes": 4, "peer": "b"},
        ),
        ("yields: another member of its group waits in the queue", "yields", {**GROUP, **QUEUES, "peer": ""}),
        (
            "yields: group g: b takes no members of groups: leave it out, or pair the job",
            "yields",
            {"group": "g", "why": "MateUnknown", "yields": 1, "peer": "b", "problem": "no_groups"},
        ),
        ("unlinked from group g", "is unlinked", GROUP),
        ("waits no longer for members that nobody has submitted", "waits no longer for an unsubmitted mate", GROUP),
    ],
)
def test_an_event_in_words(line, what, detail):
    assert told(what, **detail) == line


def test_everything_that_is_told_has_a_kind_and_a_text():
    told_of = {*What, *Noted} - story.NOT_TOLD
    assert set(story.KINDS) == told_of
    assert set(story.TEXTS) == told_of


def test_every_end_of_a_job_is_told():
    assert set(ENDED) == {state for state in JobState if state.final}


def test_the_reasons_in_one_word_are_those_with_a_text_beside_that_of_an_unknown_mate():
    assert {why for why in Why if why.isalpha()} == {*WHY, Why.MATE_UNKNOWN}


CAPPED = Record("1", What.YIELDS, Why.MATE_QUEUING, {"yields": 2, "capped": True})
STORED = [  # what databases of earlier versions have, and what the core tells
    ({"why": "asked by b"}, Record("1", What.STARTED, Why.ASKED_BY_PEER, {"asked_by": "b"})),
    (
        {"why": "its mate will not run: failed"},
        Record("1", What.STARTED, Why.MATE_WILL_NOT_RUN, {"mate_status": Status.FAILED}),
    ),
    ({"why": "PeerUnreachable", "away_s": 60}, Record("1", What.STARTED, Why.PEER_UNREACHABLE, {"away_s": 60})),
    (
        {"why": "its mate started before it: desynchronised", "gap_s": 5},
        Record("1", What.STARTED, Why.MATE_STARTED_BEFORE, {"gap_s": 5}),
    ),
    ({"why": "MateQueuing", "yields": 2, "capped": True}, CAPPED),
    ({"generation": 1}, Record("1", What.RELEASED, None, {"generation": 1})),
]


@pytest.mark.parametrize(("detail", "record"), STORED, ids=[f"{record.what}: {record.why}" for _, record in STORED])
def test_the_store_keeps_what_and_why_as_texts(detail, record):
    assert json.dumps(record.stored()) == json.dumps(detail)
    assert told(json.loads(json.dumps(record.what)), **detail) == told(record.what, **record.stored())


def yields(why: Why, count: int) -> Record:
    return Record("1", What.YIELDS, why, {"yields": count})


def test_of_yields_for_one_reason_the_first_second_fourth_and_so_on_are_told():
    last, kept = None, []
    for count in range(1, 40):
        if story.is_told(yields(Why.MATE_QUEUING, count), last, of_pair=True):
            kept.append(count)
        last = Why.MATE_QUEUING
    assert kept == [1, 2, 4, 8, 16, 32]
    assert story.is_told(yields(Why.MATE_UNSUBMITTED, 41), last, of_pair=True)


def test_reasons():
    assert story.reason(yields(Why.MATE_QUEUING, 1)) == "MateQueuing"
    assert story.reason(CAPPED) == "HeldCap"
    assert story.reason(Record("1", What.HOLDS, Why.MATE_UNSUBMITTED, {})) == "MateUnsubmitted"
    assert story.reason(Record("1", What.STARTED, Why.NO_MATE, {})) == ""
    assert story.reason(Record("1", What.RELEASED, None, {})) == story.WAITS_IN_QUEUE
    assert story.reason(Record("1", What.ANSWERS, None, {})) is None
