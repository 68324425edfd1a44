"""What a page says and draws, from made-up situations: problems, lanes, words, history."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from cosched.client import Event, Explanation, Job
from cosched.core.job import JobState
from cosched.core.protocol import Window, named_group, named_mate
from cosched.core.story import Why
from cosched.service.configuration import Configuration
from cosched.service.domain.story import Noted
from cosched.service.page import sentences, words
from cosched.service.page.history import _gaps, _how, _rounded, _scale
from cosched.service.page.job_story import _moments
from cosched.service.page.listing import urgency
from cosched.service.page.overview import _past, lane_of_mate, starts
from cosched.service.page.timeline import Axis, Outlook, lane
from cosched.service.store import EventRecord, JobRecord
from cosched.v1 import cluster_pb2, coscheduling_pb2, domain_pb2, explain_pb2, job_pb2
from tests.service.configured import PAGE, Read
from tests.service.job_records import queued

NOW = datetime(2026, 1, 2, 12, tzinfo=UTC)
INSTANT = 1_000_000
NODES = cluster_pb2.NodeCounts(idle=4, busy=4)


def record(id: int = 1, **fields: Any) -> JobRecord:
    known = {"owner": "ann", "named": named_mate("eureka", "run7"), "domain": "intrepid", "name": "job", **fields}
    return queued(id, known.pop("nodes", 2), 600, known.pop("submitted_at", INSTANT - 100), **known)


def holding(id: int, since: int, until: int = INSTANT + 60) -> JobRecord:
    return record(id, state=JobState.HOLDING, held_since=INSTANT - since, held_until=until)


def stamp(seconds: int) -> Timestamp:
    return Timestamp(seconds=int(NOW.timestamp()) + seconds)


def test_what_keeps_nodes_comes_first():
    running = record(1, state=JobState.RUNNING, started_at=INSTANT - 5)
    slot = record(2, slot=INSTANT + 9)
    wrong = record(3, reason=Why.MATE_UNKNOWN)
    held = record(4, mate_status=coscheduling_pb2.MATE_STATUS_HOLDING)
    jobs = [record(5), running, held, slot, wrong, holding(6, 10), holding(7, 20)]
    assert [job.id for job in sorted(jobs, key=partial(urgency, {}))] == [7, 6, 3, 2, 4, 5, 1]


def begun(**fields: Any) -> JobRecord:
    """A job here, intrepid's, that has begun its group; mira's starts up to ten minutes later."""
    named = named_group("win1", ("eureka", "mira"), windows=(Window("mira", 300, 600),))
    made = record(named=named, started_at=INSTANT - 60, **fields)
    made.job.group.started_by = "intrepid/6/3"
    return made


def test_by_when_the_others_of_a_group_start():
    assert begun().starts_by == {"eureka": INSTANT - 60, "mira": INSTANT + 540}
    late = begun(id=2)
    group = late.job.group
    group.windows = {**group.windows, "intrepid": (20, 90)}
    assert late.starts_by["mira"] == INSTANT - 60 - 20 + 600
    group.without = ("mira",)
    assert "mira" not in late.starts_by
    assert record(3, named=late.named).starts_by == {}
    group.started_by = ""
    assert late.starts_by == {}


def job(state: str = "", mate: str = "", **times: int) -> job_pb2.Job:
    """A job with these instants, from NOW on; its state is what they say, unless another is given."""
    usual = "COMPLETED" if "ended_at" in times else "RUNNING" if "started_at" in times else "QUEUED"
    made = job_pb2.Job(time_limit=Duration(seconds=600), state=f"JOB_STATE_{state or usual}")
    for field, seconds in times.items():
        getattr(made, field).CopyFrom(stamp(seconds))
    if mate:
        made.mates.add(job=coscheduling_pb2.JobRef(domain="eureka", job_id=mate))
    return made


def told(**times: int) -> Job:
    message = job(**times)
    message.ref.domain = "eureka"
    return Job(message)


def test_a_pair_has_ended_when_both_jobs_have():
    """Whether the mate has is known only if its domain tells."""
    here = job(mate="3", started_at=-100, ended_at=-21)

    def said(mate: Job | None) -> str:
        return sentences.waits(Job(here), {"eureka": mate}, NOW)

    assert said(told(started_at=-100, ended_at=-10)) == "ended 10 s ago"
    assert said(None) == "its job here ended 21 s ago"
    assert said(told(started_at=-100)) == "its job here ended 21 s ago; eureka:3 still runs"
    assert said(told(slot=540)) == "its job here ended 21 s ago; eureka:3 starts in 9 min, as agreed"
    assert said(told()) == "its job here ended 21 s ago; eureka:3 waits in its queue"
    here.mates[0].gap.seconds = 7
    assert said(told(ended_at=-30)) == "ended 21 s ago; it started 7 s after its mate"


def test_what_is_to_come_of_a_group_is_said_though_nobody_tells():
    here = job(started_at=-60)
    mira = here.group.members.add(domain="mira")
    mira.starts_by.CopyFrom(stamp(540))
    assert sentences.waits(Job(here), {"mira": None}, NOW) == "started 1 min ago; mira starts in 9 min at the latest"
    assert sentences.waits(Job(here), {"mira": told(started_at=-5)}, NOW) == "started 1 min ago"
    lane = lane_of_mate("mira", "1", None, Job(here), Outlook(NOW, "1h"))
    assert (lane.state, lane.said) == ("to start", "starts in 9 min at the latest")
    mira.starts_by.CopyFrom(stamp(-1))
    assert lane_of_mate("mira", "1", None, Job(here), Outlook(NOW, "1h")).state == "not known yet"


def test_a_mate_of_which_its_domain_tells_no_more_has_its_last_state_with_its_age_and_the_agreed_start():
    ours = job(mate="3", submitted_at=-600, slot=300)
    ours.mates[0].status = coscheduling_pb2.MATE_STATUS_QUEUING
    ours.mates[0].heard_at.CopyFrom(stamp(-240))
    lane = lane_of_mate("eureka", "3", None, Job(ours), Outlook(NOW, "1h"))
    assert (lane.state, lane.age, lane.said) == ("queued", "4 min ago", "slot in 5 min")
    assert [bar.kind for bar in lane.bars] == ["slot"]
    ours.ClearField("slot")
    assert not lane_of_mate("eureka", "3", None, Job(ours), Outlook(NOW, "1h")).bars


@pytest.mark.parametrize(
    ("state", "reason", "said"),
    [
        ("QUEUED", "Priority", ""),
        ("QUEUED", "MateHolding", ""),
        ("QUEUED", "MateQueuing", ""),
        ("QUEUED", "HeldCap", "it would hold, but holds already take as many nodes as they may"),
        ("QUEUED", "SlotShare", "slots of its owner with that domain have kept nodes for as long as they may"),
        ("QUEUED", "JobHeldAdmin", "an operator has put it aside; an operator lets it go by cosched release"),
        ("HOLDING", "MateQueuing", "2 nodes idle. Its hold ends in 5 min"),
        ("RUNNING", "", "started 1 min ago, 7 s after its mate"),
    ],
)
def test_a_row_does_not_say_again_what_its_lanes_show(state: str, reason: str, said: str):
    message = job(state, "3", submitted_at=-600, **({"started_at": -60} if state == "RUNNING" else {}))
    message.reason, message.nodes = reason, 2
    if state == "HOLDING":
        message.holds.hold_until.CopyFrom(stamp(300))
    if state == "RUNNING":
        message.mates[0].gap.seconds = 7
    assert sentences.row(Job(message), {"eureka": None}, NOW) == said


def bars(message: job_pb2.Job, *events: tuple[int, int], expected: int | None = None) -> list[tuple[str, float, float]]:
    told = [Event(domain_pb2.Event(at=stamp(at), kind=kind)) for at, kind in events]
    axis = Axis(NOW, NOW - timedelta(seconds=1000), NOW + timedelta(seconds=1000))
    at = NOW + timedelta(seconds=expected) if expected is not None else None
    return [(bar.kind, bar.x, bar.width) for bar in lane(axis, Job(message), told, at, "in 9 min")]


def test_the_lane_of_a_job_that_held_and_runs():
    message = job(submitted_at=-800, ready_at=-600, started_at=-200)
    held = ((-600, domain_pb2.EVENT_KIND_HELD), (-400, domain_pb2.EVENT_KIND_RELEASED))
    assert bars(message, *held) == [
        ("queued", 10, 30), ("held", 20, 10), ("ran", 40, 10), ("planned", 50, 20), ("ready", 20, 0)
    ]  # fmt: skip


def test_a_slot_and_what_lies_outside():
    message = job(submitted_at=-5000, slot=500)
    assert bars(message) == [("queued", 0, 50), ("before", 0, 0), ("planned", 75, 25), ("slot", 75, 0)]
    message.slot.CopyFrom(stamp(5000))
    assert bars(message) == [("queued", 0, 50), ("before", 0, 0), ("beyond", 100, 0)]
    assert bars(job(submitted_at=-9000, started_at=-8000, ended_at=-7000)) == []


def test_a_hold_that_lasts():
    assert ("held", 46.0, 4.0) in bars(job("HOLDING", submitted_at=-100), (-80, domain_pb2.EVENT_KIND_HELD))


def test_an_expected_start_until_there_is_a_slot():
    message = job(submitted_at=-100)
    assert bars(message, expected=500) == [("queued", 45, 5), ("expected", 75, 0)]
    assert ("beyond", 100, 0) in bars(message, expected=5000)
    message.slot.CopyFrom(stamp(400))
    assert ("slot", 70, 0) in bars(message, expected=500)
    assert "expected" not in [kind for kind, *_ in bars(message, expected=500)]


def test_when_a_pair_is_expected_to_start_is_said_and_drawn_on_all_lanes():
    told = explain_pb2.Explanation()
    told.job.job.domain, told.job.start.source = "intrepid", explain_pb2.ESTIMATE_SOURCE_HAS_NODES
    told.mates.add().job.domain = "eureka"
    for estimate in (told.mates[0].start, told.together):
        estimate.at.CopyFrom(stamp(720))
        estimate.made_at.CopyFrom(stamp(0))
        estimate.source = explain_pb2.ESTIMATE_SOURCE_PLAN
    at = NOW + timedelta(seconds=720)
    assert starts(Explanation(told), NOW) == {"intrepid": (at, "in 12 min"), "eureka": (at, "")}
    told.together.accuracy.latest.seconds, told.together.accuracy.within, told.together.accuracy.of = 360, 8, 10
    said = "expected in 12 min (8 of the last 10 such waits were 1 to 1.5 times as long)"
    assert words.expected(Explanation(told).together, NOW) == said
    told.ClearField("together")  # the mate's domain does not tell, or not this viewer
    told.mates[0].ClearField("start")
    assert starts(Explanation(told), NOW) == {}, "it has its nodes, and its mate's domain does not tell"
    told.job.start.source = explain_pb2.ESTIMATE_SOURCE_PLAN
    told.job.start.at.CopyFrom(stamp(60))
    assert starts(Explanation(told), NOW)["intrepid"][1] == "in 1 min here"
    told.job.start.source = explain_pb2.ESTIMATE_SOURCE_SLOT
    told.together.CopyFrom(told.job.start)
    assert starts(Explanation(told), NOW)["intrepid"][1] == "in 1 min, agreed"


def test_the_automatic_axis_is_as_long_as_most_jobs_need():
    """One that waits for long makes no slivers of the others; the future has what is expected, if there is room."""
    waits = [record(id, submitted_at=INSTANT - 60) for id in (1, 2)]
    assert _past([*waits, record(3, submitted_at=INSTANT - 5 * 3600)], INSTANT) == "15m"
    assert _past([*waits, *(record(id, submitted_at=0) for id in (3, 4, 5))], INSTANT) == "7d"
    assert _past([], INSTANT) == "15m"


@pytest.mark.parametrize(
    ("ahead", "end"),
    [([], 900), ([60], 900), ([3000], 1.08 * 3000), ([60, 36_000], 1.08 * 36_000), ([10**6], 2 * 86_400)],
)
def test_the_present_is_at_a_fifth_and_the_axis_goes_as_far_as_starts_are_expected(ahead: list[int], end: float):
    axis = Outlook(NOW, "1h", [NOW + timedelta(seconds=seconds) for seconds in ahead])
    assert axis.now_at == 20
    assert axis.end == NOW + timedelta(seconds=end)
    assert (axis.at(axis.begin), axis.at(axis.end)) == (0, 100)


def test_more_than_an_hour_ahead_the_axis_is_compressed():
    axis = Outlook(NOW, "1h", [NOW + timedelta(hours=20)])
    quarter, half, hour, day = (axis.at(NOW + timedelta(hours=hours)) - 20 for hours in (0.25, 0.5, 1, 20))
    assert (half, hour) == (pytest.approx(2 * quarter, abs=0.1), pytest.approx(4 * quarter, abs=0.1))
    assert hour < day < 5 * hour


def test_the_axis_of_given_instants():
    ended = Axis.over(NOW, [NOW - timedelta(hours=2), None, NOW - timedelta(hours=1)])
    assert ended.now_at is None
    assert (ended.at(NOW - timedelta(hours=2)), ended.at(NOW - timedelta(hours=1))) == (2.83, 97.17)
    short = Axis.over(NOW, [NOW - timedelta(seconds=1)])
    assert {len(tick.label) for tick in short.ticks()} == {len("12:00:00")}
    assert Axis.over(NOW, []).now_at is not None


@pytest.mark.parametrize(("most", "top"), [(0, 0), (1, 1), (3, 4), (7, 8), (9, 10), (11, 20), (99, 100), (250, 400)])
def test_scales_end_at_round_numbers(most: int, top: int):
    assert _rounded(most) == top


def test_scales_have_numbers():
    assert _scale(4, "start") == ["4 starts", "2", "0"]
    assert _scale(1, "node") == ["1 node", "0"]
    assert _scale(0, "node") == ["0 nodes"]


@pytest.mark.parametrize("ahead", [0, 3000, 20_000, 10**6])
@pytest.mark.parametrize("past", ["15m", "1h", "6h", "1d", "7d"])
def test_ticks_are_round_and_few(past: str, ahead: int):
    ticks = Outlook(NOW, past, [NOW + timedelta(seconds=ahead)]).ticks()
    assert 2 <= len(ticks) <= 9
    places = [20.0 if not tick.x else tick.x for tick in ticks]
    assert all(after - before >= 9 for before, after in pairwise(places))
    assert len({tick.label for tick in ticks}) == len(ticks)


@pytest.mark.parametrize(
    ("detail", "how"),
    [
        ({"why": Why.ASKED_BY_PEER, "asked_by": "eureka"}, "together"),
        ({"why": Why.AT_SLOT}, "together"),
        ({"why": Why.MATE_STARTED_BEFORE, "gap_s": 30}, "apart"),
        ({"why": Why.MATE_STARTED_BEFORE, "gap_s": 10**6}, "apart"),
        ({"why": Why.PATIENCE_ENDED}, "without"),
        ({"why": Why.NO_MATE}, ""),
        ({}, ""),
    ],
)
def test_how_a_job_started(detail: dict[str, Any], how: str):
    event = EventRecord(1, 0, domain_pb2.EVENT_KIND_STARTED, 1, "started", detail)
    assert _how(event, _gaps([event])) == how


def test_a_gap_that_was_measured_counts_not_the_one_that_was_foreseen():
    started = EventRecord(1, 0, domain_pb2.EVENT_KIND_STARTED, 1, "started", {"why": Why.AT_SLOT})
    late = EventRecord(2, 0, domain_pb2.EVENT_KIND_STARTED, 2, "started", {"why": Why.MATE_STARTED_BEFORE, "gap_s": 9})
    apart = [
        EventRecord(3 + job, 3, domain_pb2.EVENT_KIND_WARNING, job, Noted.APART, {"apart_s": gap})
        for job, gap in ((1, -4.4), (2, 11.2))
    ]
    assert _gaps([started, late]) == {2: 9}
    assert _gaps([started, late, *apart]) == {1: 4, 2: 11}
    assert (_how(started, _gaps([started])), _how(started, _gaps(apart))) == ("together", "apart")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (59, "59 s"), (60, "1 min"), (3600, "1 h"), (12_000, "3 h 20 min"), (100_000, "1 d 3 h")],
)
def test_times_in_words(seconds: int, text: str):
    assert words.span(seconds) == text


def test_before_and_after():
    assert words.ago(NOW - timedelta(minutes=5), NOW) == "5 min ago"
    assert words.ago(NOW + timedelta(minutes=5), NOW) == "in 5 min"
    assert words.milliseconds(timedelta(milliseconds=1.25)) == "1.2 ms"
    assert [words.count(number, "node") for number in (0, 1, 2)] == ["0 nodes", "1 node", "2 nodes"]


def test_the_defaults_tell_others_nothing(read: Read):
    configuration: Configuration = read(PAGE.replace("[page]\n", ""))
    assert configuration.page is None
    assert configuration.shown_to == "own"
    assert Decimal(str(read(PAGE).coscheduling.max_clock_offset)) == Decimal("0.5")


def test_a_peers_story_is_folded_by_our_clock() -> None:
    events = []
    for second in range(6):
        kind = domain_pb2.EVENT_KIND_HELD if second % 2 == 0 else domain_pb2.EVENT_KIND_RELEASED
        events.append(Event(domain_pb2.Event(kind=kind, text="holds: its mate queues" if second % 2 == 0 else "over")))
        events[-1]._message.at.seconds = 60 + second
    [moment] = _moments("eureka", events, timedelta(seconds=10), False)
    assert moment.kind == "released"
    assert moment.text == "3 holds since 1970-01-01 00:00:50 UTC, each released: its mate queues"
    assert moment.at == datetime(1970, 1, 1, 0, 0, 55, tzinfo=UTC)
    assert len(list(_moments("eureka", events, timedelta(0), True))) == 6
