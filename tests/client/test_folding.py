"""Stories, folded: what happens again and again is one line, and nothing is lost that says how things are."""

from cosched.client import Event
from cosched.client.folding import folded, unfolded
from cosched.v1 import domain_pb2

HELD, RELEASED, YIELDED = domain_pb2.EVENT_KIND_HELD, domain_pb2.EVENT_KIND_RELEASED, domain_pb2.EVENT_KIND_YIELDED
SLOT, PEER, LINKED = domain_pb2.EVENT_KIND_SLOT, domain_pb2.EVENT_KIND_PEER, domain_pb2.EVENT_KIND_LINKED
OVER = (RELEASED, "its hold is over: queued again, behind the others")
KEEPS = (SLOT, "keeps its nodes for its group, which may start now")
NO_LONGER = (SLOT, "keeps its nodes no longer: not all of its group could start")


def hold(second, why="its mate is not submitted yet"):
    return HELD, f"holds 2 nodes until 2026-01-01 00:00:{second:02} UTC at most: {why}"


def story(*happened):
    """Events, one each second."""
    events = []
    for second, (kind, text) in enumerate(happened):
        events.append(domain_pb2.Event(sequence=second + 1, kind=kind, text=text))
        events[-1].at.seconds = second
    return [Event(event) for event in events]


def lines(*happened):
    """The folded lines, each with the second at which it stands."""
    told = folded(story(*happened), lambda at: f"{at:%H:%M:%S}")
    return [f"{event.at.second} {text}" for event, text in told]


def test_holds_that_are_released_again_and_again():
    told = lines((LINKED, "linked with b:1"), hold(2), OVER, hold(4), OVER, hold(6), OVER, hold(8))
    assert told == [
        "0 linked with b:1",
        "6 3 holds since 00:00:01, each released: its mate is not submitted yet",
        "7 holds 2 nodes until 2026-01-01 00:00:08 UTC at most: its mate is not submitted yet",
    ]


def test_what_happens_twice_is_told_twice():
    happened = [hold(2), OVER, hold(4), OVER]
    assert [text for _, text in folded(story(*happened), str)] == [text for _, text in happened]


def test_holds_for_another_reason_are_another_line():
    queues = "its mate waits in the queue"
    told = lines(hold(1), OVER, hold(3), OVER, hold(5), OVER, *([hold(7, queues), OVER] * 4))
    assert told == [
        "5 3 holds since 00:00:00, each released: its mate is not submitted yet",
        f"13 4 holds since 00:00:06, each released: {queues}",
    ]


def test_a_group_that_tries_again_and_again_while_its_job_holds():
    told = lines(hold(1), *([KEEPS, NO_LONGER] * 3), OVER)
    assert told == [
        "0 holds 2 nodes until 2026-01-01 00:00:01 UTC at most: its mate is not submitted yet",
        f"5 {KEEPS[1]}; 3 times since 00:00:01",
        f"6 {NO_LONGER[1]}; 3 times since 00:00:02",
        f"7 {OVER[1]}",
    ]


def test_yields_whose_number_is_told_already():
    queues = "its mate waits in the queue"
    told = lines(
        (YIELDED, f"yields: {queues}"), *((YIELDED, f"yields (yield {often}): {queues}") for often in (2, 4, 8))
    )
    assert told == [f"3 yields (yield 8): {queues}; so since 00:00:00"]


def test_what_others_did_is_told_of_each_of_them():
    happened = [(PEER, f"gets no answer of mira-{number % 3}: it is down") for number in range(9)]
    assert lines(*happened) == [
        f"{6 + n} gets no answer of mira-{n}: it is down; 3 times since 00:00:0{n}" for n in range(3)
    ]


def test_what_happens_once_parts_a_story():
    assert len(lines(hold(1), OVER, hold(3), OVER, (LINKED, "linked with b:2"), hold(6), OVER)) == 7


def test_the_whole_story():
    happened = story(hold(2), OVER, hold(4), OVER, hold(6), OVER)
    assert unfolded(happened) == [(event, event.text) for event in happened]
