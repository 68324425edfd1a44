"""What the core records, told for people."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cosched.core.coscheduling import allocations, asking, incoming, links, outgoing
from cosched.core.effects import Record
from cosched.core.protocol import FOREVER
from cosched.service.domain import story
from cosched.v1 import domain_pb2

SOURCES = [Path(part.__file__).read_text() for part in (allocations, asking, incoming, links, outgoing)]


def told(what: str, **detail: object) -> str:
    return story.text(what, detail, lambda instant: f"t{instant}")


@pytest.mark.parametrize(
    ("line", "what", "detail"),
    [
        ("submitted", "submitted", {"peer": None}),
        ("submitted; its mate: the job of pair p on b", "submitted", {"peer": "b", "pair": "p"}),
        ("submitted; its mate: b:7", "submitted", {"peer": "b", "mate": "7"}),
        ("is ready on 4 nodes", "is ready", {"nodes": 4}),
        (
            "holds 4 nodes until t9 at most: its mate waits in the queue",
            "holds",
            {"why": "MateQueuing", "until": 9, "nodes": 4},
        ),
        (
            "holds 4 nodes until its mate can start: its mate is not submitted yet",
            "holds",
            {"why": "MateUnsubmitted", "until": FOREVER, "nodes": 4},
        ),
        ("yields: its mate waits in the queue", "yields", {"why": "MateQueuing", "yields": 1}),
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
        ("something new", "something new", {}),
    ],
)
def test_an_event_in_words(line, what, detail):
    assert told(what, **detail) == line


def recorded() -> set[str]:
    """All that the core records, read off its source."""
    text = "".join(SOURCES)
    return set(re.findall(r'note\(job, "([^"]+)"', text)) | {outgoing.REFUSED, "completed", "failed", "cancelled"}


def test_everything_that_the_core_records_has_a_kind_or_is_left_to_what_comes_of_it():
    silent = {"waits no longer for an unsubmitted mate"}
    assert {what for what in recorded() - story.NOT_TOLD - silent if what not in story.KINDS} == set()
    assert story.kind("something new") == domain_pb2.EVENT_KIND_UNKNOWN


def yields(why: str, count: int) -> Record:
    return Record("1", "yields", {"why": why, "yields": count})


def test_of_yields_for_one_reason_the_first_second_fourth_and_so_on_are_told():
    last, kept = None, []
    for count in range(1, 40):
        if story.is_told(yields("MateQueuing", count), last):
            kept.append(count)
        last = "MateQueuing"
    assert kept == [1, 2, 4, 8, 16, 32]
    assert story.is_told(yields("MateUnsubmitted", 41), last)


def test_reasons():
    assert story.reason(yields("MateQueuing", 1)) == "MateQueuing"
    assert story.reason(Record("1", "yields", {"why": "MateQueuing", "yields": 1, "capped": True})) == "HeldCap"
    assert story.reason(Record("1", "holds", {"why": "MateUnsubmitted"})) == "MateUnsubmitted"
    assert story.reason(Record("1", "started", {"why": "x"})) == ""
    assert story.reason(Record("1", "is released", {})) == story.WAITS_IN_QUEUE
    assert story.reason(Record("1", "answers", {})) is None


def test_which_starts_are_together():
    starts = {"asked by b": True, "its holding mate started": True, "PeerUnreachable": False, "patience ended": False}
    assert {why: story.starts_together(Record("1", "started", {"why": why})) for why in starts} == starts
