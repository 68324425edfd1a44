"""Section IV-E1 (Tang et al. 2011), solving deadlock, sentence by sentence; and the release timer's rules of
coscheduling.md."""

from decimal import Decimal

import pytest

from cosched.core.coscheduling import holds
from cosched.core.effects import ClearTimer, Hold, Release, SetTimer, Timer
from cosched.core.events import ReleaseDue
from cosched.core.job import JobState
from cosched.core.protocol import FOREVER, MateStarted, MateStatus, Status
from cosched.core.settings import CoschedulingSettings, Scheme
from tests.core.driver import NO, DomainA, answered, decided, of, timer
from tests.sim.core.replays import Replay
from tests.sim.core.test_scheme_combinations import FIGURE_2, FOUR

PAIR = [("a1", "b1")]


def test_holds_are_released_periodically():
    """ "To solve deadlock, we deploy a scheme to force the holding jobs to release their resources periodically (e.g.,
    every 20 minutes) so that other waiting jobs can use the previously held resources." """
    assert CoschedulingSettings().release_interval == 20 * 60
    assert Replay({"a1": (0, 9, 4), "a2": (10, 9, 7)}, {"b1": (3000, 9, 4)}, PAIR).start("a2") == 1200


def test_release_solves_figure_2():
    """ "This preemptive scheme can break circular wait." "Consider the same example in Figure 2. If job a_1
    releases its resource temporarily, job a_2 can get the nodes to start; so can b_2 . When b_2 completes, job
    b_1 can start. Thus the deadlock is solved." """
    run = Replay(*FIGURE_2)
    assert run.times("a1", "is released") == [1200]
    assert run.starts() == {"a1": 1300, "a2": 1200, "b2": 1200, "b1": 1300}


def test_a_released_job_comes_last():
    """ "In order to guarantee the nodes released by job a_1 can be used by job a_2 , the job that releases the nodes
    (i.e., a_1) should be set to the lowest priority at that scheduling iteration." """
    # a1 was submitted before a2 and a3, and comes after both at 1200.
    jobs = {"a1": (0, 9, 4), "a2": (10, 9, 7), "a3": (20, 9, 3)}
    run = Replay(jobs, {"b1": (3000, 9, 4)}, PAIR, backfill="none")
    assert (run.start("a2"), run.start("a3")) == (1200, 1200)
    assert run.times("a1", "holds")[:2] == [0, 1209]


def test_a_released_job_whose_nodes_are_taken_is_queuing():
    """ "If the released nodes are preempted by other jobs, the original holding job will be put in queuing status." """
    run = Replay({"a1": (0, 9, 4), "a2": (10, 500, 7)}, {"b1": (1300, 9, 4)}, PAIR)
    assert run.start("a2") == 1200
    assert run.job("b1").holds == 1  # at 1300 its mate is queuing
    assert run.start("a1") == run.start("b1") == 1700


def test_a_released_job_whose_nodes_are_left_holds_again():
    """ "Otherwise, the job will hold by the original holding job again." """
    run = Replay({"a1": (0, 9, 4)}, {"b1": (3000, 9, 4)}, PAIR)
    assert run.times("a1", "is released") == [1200, 2400]
    assert run.times("a1", "holds") == [0, 1200, 2400]
    assert run.held_node_seconds(0) == 3000 * 4


@pytest.mark.parametrize(("a", "b"), FOUR)
def test_all_combinations_coschedule(a, b):
    """ "Since deadlock can be solved, all the four configuration combinations can achieve coscheduling." "In this
    setting [hold-yield, yield-hold], the goal of coscheduling can also be achieved." (IV-D)"""
    run = Replay(*FIGURE_2, a_only={"scheme": a}, b_only={"scheme": b})
    assert run.start("a1") == run.start("b1") is not None
    assert run.start("a2") == run.start("b2") is not None


def test_a_scheme_is_configured_without_knowing_the_other():
    """ "That means the schemes are locally configured: an individual machine needs to be configured only with its local
    scheme, without knowing the remote configuration." """
    # The same questions, answers and decisions, whatever the peer's scheme: it is in no message.
    for scheme in (Scheme.HOLD, Scheme.YIELD):
        b = DomainA(scheme=scheme)
        b.submit()
        assert b.asked_id()._fields == ("found", "job", "problem")
        told = {"status": "queuing", "generation": 0, "started_at": None, "may_book": False}
        told |= {"runs": 0, "ended_at": None, "ended_by": "itself"}
        assert b.asked_status()._asdict() == told


# The rules of coscheduling.md: "Release timer"


def test_each_hold_has_its_timer():
    """ "A hold that has lasted so long is released, and an iteration follows at once" """
    a = DomainA(release_interval=60)
    a.now = 5
    effects = a.hold_or_yield()
    assert (of(effects, Hold), timer(effects, Timer.RELEASE)) == ([Hold("j", 65)], 65)
    a.now = 65
    effects = a.feed(ReleaseDue("j"))
    assert of(effects, Release) == [Release("j")]
    assert ClearTimer("j", Timer.RELEASE) in effects  # an operator may have released it before its time
    assert a.state() is JobState.QUEUED
    assert a.core.ledger.held_nodes == 0
    assert a.job().held_node_seconds == 4 * 60


def test_with_the_timer_off_a_hold_has_no_end():
    """ "`release_interval`, 20 min; 0 is off"; "with the timer off they are not expected back" """
    effects = DomainA(release_interval=0).hold_or_yield()
    assert (of(effects, Hold), of(effects, SetTimer)) == ([Hold("j", FOREVER)], [])


def test_a_start_ends_the_hold_and_its_timer():
    a = DomainA()
    a.hold_or_yield()
    a.now = 7
    assert ClearTimer("j", Timer.RELEASE) in a.asked_start(generation=1)
    assert (a.core.ledger.held_nodes, a.job().held_node_seconds) == (0, 28)


def test_each_hold_has_a_generation():
    """ "it is ready again, with a new hold and a new generation"; "If other jobs took its nodes [...] the released job
    is queuing again" """
    a = DomainA()
    a.hold_or_yield()
    assert a.asked_status() == MateStatus(Status.HOLDING, 1, None)
    a.now = 1200
    a.feed(ReleaseDue("j"))
    assert a.asked_status() == MateStatus(Status.QUEUING, 1, None)
    assert timer(a.hold_or_yield(), Timer.RELEASE) == 2400
    assert a.asked_status() == MateStatus(Status.HOLDING, 2, None)


def test_a_start_for_an_earlier_hold_is_refused():
    """ "If it is refused, the hold has ended: treat k as queuing" """
    a = DomainA()
    a.hold_or_yield()
    a.feed(ReleaseDue("j"))
    effects = a.asked_start(generation=1, number=1)  # queuing
    assert (answered(effects), decided(effects)) == (MateStarted(NO), [])
    a.hold_or_yield()
    effects = a.asked_start(generation=1, number=2)  # holding, but not that hold
    assert (answered(effects), decided(effects)) == (MateStarted(NO), [])


# "Release jitter"


def crc32_by_hand(text: str) -> int:
    """The definition (RFC 1952), bit by bit."""
    crc = 0xFFFFFFFF
    for byte in text.encode():
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0xEDB88320 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


@pytest.mark.parametrize(
    ("domain", "job", "generation", "crc", "extra"),
    [  # extra = floor(1200 * 0.25 * crc / 2^32)
        ("A", "1", 1, 1032556156, 72),
        ("A", "1", 2, 2760040390, 192),
        ("Eureka", "17.x", 3, 316229873, 22),
    ],
)
def test_jitter_lengthens_each_hold_by_its_own_crc(domain, job, generation, crc, extra):
    """ "Each hold lasts longer by floor(interval x jitter x crc32("domain/job/generation") / 2^32)
    seconds" """
    assert crc32_by_hand(f"{domain}/{job}/{generation}") == crc
    settings = CoschedulingSettings(release_interval=1200, release_jitter=Decimal("0.25"))
    assert holds.release_time(settings, domain, job, generation, now=1000) == 1000 + 1200 + extra


def test_the_jitter_of_two_holds_of_one_job_differs():
    a = DomainA(release_jitter=Decimal("0.25"))
    a.hold_or_yield(job="1")
    assert a.job("1").held_until == 1200 + 72
    a.now = 1272
    a.feed(ReleaseDue("1"))
    a.hold_or_yield(job="1")
    assert a.job("1").held_until == 1272 + 1200 + 192


def test_jitter_is_exact_where_doubles_are_not():
    """ "Interval, jitter and fractions are computed exactly, not in floating point." """
    settings = CoschedulingSettings(release_interval=366 * 86400, release_jitter=Decimal("0.1234567890123456789"))
    got = holds.release_time(settings, "A", "1", 1, now=0)
    numerator = 366 * 86400 * 1234567890123456789 * 1032556156
    assert got == 366 * 86400 + numerator // (10**19 * 2**32)
