"""Section IV-D (Tang et al. 2011), sentence by sentence, on two machines of 10 nodes."""

from decimal import Decimal

import pytest

from cosched.core.job import JobState
from cosched.core.settings import CoschedulingSettings, Scheme
from tests.sim.core.replays import Replay

HOLD, YIELD = Scheme.HOLD, Scheme.YIELD
FOUR = [(HOLD, HOLD), (YIELD, YIELD), (HOLD, YIELD), (YIELD, HOLD)]
PAIR = [("a1", "b1")]


def replay(a, b, pairs, schemes, **settings) -> Replay:
    return Replay(a, b, pairs, a_only={"scheme": schemes[0]}, b_only={"scheme": schemes[1]}, **settings)


def test_each_machine_is_configured_with_a_scheme():
    """ "In order to apply coscheduling on the coupled systems, each machine must be preconfigured with a coscheduling
    scheme." """
    assert CoschedulingSettings().scheme in (HOLD, YIELD)
    assert all(CoschedulingSettings(scheme=scheme).enabled for scheme in (HOLD, YIELD))
    assert not CoschedulingSettings(scheme=Scheme.OFF).enabled


@pytest.mark.parametrize("schemes", FOUR)
@pytest.mark.parametrize("first", ["a1", "b1"])
def test_all_four_combinations_start_a_pair_together(schemes, first):
    """ "To this end, we have identified four combinations of configuration: hold-hold, yield-yield, hold-yield, and
    yield-hold." """
    run = replay({"a1": (0 if first == "a1" else 60, 9, 4)}, {"b1": (30, 9, 4)}, PAIR, schemes)
    late = 30 if first == "a1" else 60
    assert run.starts() == {"a1": late, "b1": late}


# 1) Hold-Hold


@pytest.mark.parametrize("schemes", [(HOLD, HOLD), (HOLD, YIELD)])
def test_where_the_first_holds_both_start_with_the_second(schemes):
    """ "In this setting [hold-hold], when one job of the paired job gets ready, it will enter hold status. Once the
    second job gets ready, both jobs can start immediately." "Suppose machine A uses hold and machine B uses yield. If
    job a on A gets ready first, it will hold; when its mate job b gets ready, they can both start immediately." """
    run = replay({"a1": (0, 9, 4)}, {"b9": (0, 70, 8), "b1": (30, 9, 4)}, PAIR, schemes)
    assert run.times("a1", "holds") == [0]
    assert run.job("b1").ready_at == 70
    assert (run.start("a1"), run.start("b1")) == (70, 70)


FIRST, SECOND = (0, 100, 6), (10, 100, 6)
FIGURE_2 = ({"a1": FIRST, "a2": SECOND}, {"b2": FIRST, "b1": SECOND}, [("a1", "b1"), ("a2", "b2")])


def test_hold_hold_may_deadlock():
    """ "Hold-hold means using the hold scheme on both machines of the coupled system." "Hold-hold is effective for
    synchronizing two jobs, but it may result in deadlock."

    "Fig. 2. Example of deadlock. Machine A has a job a_1 holding 6 nodes, waiting for its mate b_1 queuing on machine
    B and also requesting 6 nodes. But machine B has another job b_2 holding 6 nodes, waiting its mate a_2 queuing on
    machine A and requesting 6 nodes." """
    run = replay(*FIGURE_2, (HOLD, HOLD), release_interval=0)
    states = {name: run.state(name) for name in run.starts()}
    holding, queuing = JobState.HOLDING, JobState.QUEUED
    assert states == {"a1": holding, "a2": queuing, "b2": holding, "b1": queuing}


def test_mutual_exclusion():
    """ "mutual exclusion (a node can be assigned only to a job)" """
    # 6 of 10 nodes each: two never hold or run at one time on one machine.
    run = replay(*FIGURE_2, (HOLD, HOLD))
    assert abs(run.start("a1") - run.start("a2")) >= 100
    assert abs(run.start("b1") - run.start("b2")) >= 100


def test_hold_and_wait_without_preemption():
    """ "hold and wait (a job holds some nodes and waits until its mate is ready)" "no preemption (we do not have
    preemption)" """
    # a2 wants nodes that a1 holds, and waits.
    jobs = {"a1": (0, 9, 4), "a2": (10, 9, 7)}, {"b1": (300, 9, 4)}
    run = replay(*jobs, PAIR, (HOLD, HOLD), release_interval=0)
    assert (run.times("a1", "is released"), run.held_node_seconds(0)) == ([], 4 * 300)
    assert run.start("a2") == 309


@pytest.mark.parametrize("schemes", FOUR)
def test_circular_wait_takes_hold_on_both_machines(schemes):
    """ "circular wait (both machines use hold, so that circular wait is possible)" """
    run = replay(*FIGURE_2, schemes, release_interval=0)
    stuck = [name for name, start in run.starts().items() if start is None]
    assert stuck == (["a1", "a2", "b2", "b1"] if schemes == (HOLD, HOLD) else [])


# 2) Yield-Yield


def test_yield_yield_never_holds():
    """ "Yield-yield means using the yield scheme on both machines of the coupled system." """
    run = replay(*FIGURE_2, (YIELD, YIELD))
    assert [run.job(name).holds for name in run.starts()] == [0] * 4


def test_yield_yield_starts_only_when_both_are_ready():
    """ "In this setting, the paired jobs can be started only when both get scheduled and assigned with sufficient
    nodes simultaneously." """
    # A is full from 10 to 120, after a1 has yielded, and B until 200.
    a, b = {"a1": (0, 9, 6), "a2": (10, 110, 8)}, {"b9": (0, 200, 8), "b1": (5, 9, 6)}
    run = replay(a, b, PAIR, (YIELD, YIELD))
    assert run.start("a2") == 10
    assert run.start("a1") == run.start("b1") == 200


def test_yield_yield_may_alternate():
    """ "Before that, both jobs may alternately yield." """
    # A is full from 10 to 110 and from 185 to 285, B until 80 and from 90 to 190.
    a = {"a1": (0, 9, 6), "a2": (10, 100, 8), "a3": (185, 100, 8)}
    run = replay(a, {"b9": (0, 80, 8), "b1": (5, 9, 6), "b2": (90, 100, 8)}, PAIR, (YIELD, YIELD))
    yields = sorted((t, name) for name in ("a1", "b1") for t in run.times(name, "yields"))
    turns = [name for i, (_, name) in enumerate(yields) if i == 0 or yields[i - 1][1] != name]
    assert turns == ["a1", "b1", "a1", "b1"]
    assert run.start("a1") == run.start("b1") == 285


@pytest.mark.parametrize("policy", ["fcfs", "wfp"])
def test_yield_yield_ends_under_priorities_that_grow_with_time(policy):
    """ "But they can eventually reach the both-ready condition, because they will eventually get the highest priority
    on their respective machine if job priority increases by time." "The most commonly used FCFS (first-come,
    first-served) policy [11] and some of its variations such as WFP [28] serve this purpose well." """
    # Small jobs keep both machines busy until 2000; the pair needs the whole of both.
    stream = {f"a{i}": (10 * i, 35, 4) for i in range(2, 200)}
    streams = stream, {name.replace("a", "b"): job for name, job in stream.items()}
    a, b = {"a1": (7, 50, 8), **streams[0]}, {"b1": (11, 50, 8), **streams[1]}
    run = replay(a, b, PAIR, (YIELD, YIELD), policy=policy, yield_boost=Decimal(0))
    assert run.start("a1") == run.start("b1") is not None


# 3) Hold-Yield and Yield-Hold


@pytest.mark.parametrize(("schemes", "who_holds"), [((HOLD, YIELD), "a"), ((YIELD, HOLD), "b")])
def test_hold_yield_has_one_scheme_a_machine(schemes, who_holds):
    """ "Hold-yield and yield-hold use different schemes on different machines." """
    pairs = [("a1", "b1"), ("a2", "b2")]
    run = replay({"a1": (0, 9, 4), "a2": (80, 9, 4)}, {"b1": (30, 9, 4), "b2": (60, 9, 4)}, pairs, schemes)
    first = {"a1": "a", "b2": "b"}  # of each pair
    assert {name: run.job(name).holds > 0 for name in first} == {n: d == who_holds for n, d in first.items()}


def test_hold_yield_if_the_yielding_side_is_first_and_ready_again():
    """ "If job b is ready first, it will yield; when job a gets ready, it checks whether b is ready. If it is, both
    start" """
    run = replay({"a9": (0, 70, 8), "a1": (5, 9, 4)}, {"b1": (10, 9, 4)}, PAIR, (HOLD, YIELD))
    assert run.times("b1", "yields") == [10]
    assert run.times("a1", "holds") == []
    assert run.job("a1").ready_at == run.start("a1") == run.start("b1") == 70


def test_hold_yield_if_the_yielding_side_is_first_and_not_ready_again():
    """ "if not, job a holds until job b gets ready for the next time." """
    run = replay({"a9": (0, 70, 8), "a1": (5, 9, 4)}, {"b1": (10, 9, 4), "b2": (10, 90, 8)}, PAIR, (HOLD, YIELD))
    assert run.times("b1", "yields") == [10]
    assert run.times("a1", "holds") == [70]
    assert run.start("a1") == run.start("b1") == 100
