"""Pairs of jobs with their four calls (docs/coscheduling.md): what holds with all rules, what fails without one."""

from pathlib import Path

import pytest

from tests.model.tlc import NEVER, STANDSTILL, check, expect

RULES = (
    "ReleaseTimer", "WantedFirst", "Jitter", "LooksAgain", "Generations", "FirstAnswer", "PersistFirst", "Voids",
    "VoidsAtRequeue", "News", "Check",
)  # fmt: skip
ALWAYS = ("NobodyStartsTwice", "NothingBeyondTheMachine", "NoHalfPair")
HALF = "NoHalfPair"
TWICE = "NobodyStartsTwice"
BOTH_CALLS = frozenset({"start", "try"})
HOLD, YIELD, MIXED = ("hold", "hold"), ("yield", "yield"), ("hold", "yield")

Orders = tuple[tuple[int, ...], tuple[int, ...]]
ONE: Orders = ((1,), (1,))
FIGURE_2: Orders = ((1, 2), (2, 1))  # of the paper: each machine holds for what waits on the other
FOUR_PAIRS: Orders = ((1, 3, 2, 4), (2, 4, 1, 3))  # the smallest exchange of holds


def world(orders: Orders, schemes: tuple[str, str], without: str | None = None, **more: object) -> dict[str, object]:
    """All jobs are there from the beginning, each is as large as its machine, and there are no faults."""
    rules = {rule: rule != without for rule in RULES}
    given = {"Order": dict(zip("AB", orders, strict=True)), "Scheme": dict(zip("AB", schemes, strict=True))}
    plain = {"Submitted": True, "Others": frozenset(), "CallsCross": True, "Faults": False, "Cancels": frozenset()}
    bounds = {"Unreachable": "start", "MaxCalls": {"A": 0, "B": 0}, "MaxRuns": 1, "TakenAlone": False}
    return given | plain | bounds | {"Places": 1, "SayRuns": BOTH_CALLS} | rules | more


def faulty(unreachable: str, without: str | None = None, calls: tuple[int, int] = (1, 3)) -> dict[str, object]:
    """One pair, a machine that others use, too, and every fault; after so many calls no job asks anew."""
    late = {"MaxCalls": dict(zip("AB", calls, strict=True)), "Others": frozenset("A"), "Unreachable": unreachable}
    return world(ONE, HOLD, without, **late, Faults=True, LooksAgain=False, Jitter=False)


def test_figure_2_of_the_paper_ends(tmp_path: Path) -> None:
    values = world(FIGURE_2, HOLD, CallsCross=False)
    expect(None, tmp_path, "Pairs", values, invariants=ALWAYS, eventually="EveryJobStarts")


@pytest.mark.model
@pytest.mark.parametrize(
    "values",
    [
        pytest.param(world(FOUR_PAIRS, HOLD, CallsCross=False), id="four pairs"),
        pytest.param(world(FIGURE_2, HOLD), id="hold-hold, crossing"),
        pytest.param(world(FIGURE_2, YIELD), id="yield-yield, crossing"),
        pytest.param(world(FIGURE_2, MIXED), id="hold-yield, crossing"),
        pytest.param(world(ONE, HOLD, Submitted=False), id="submitted one by one"),
    ],
)
def test_every_job_starts(values: dict[str, object], tmp_path: Path) -> None:
    expect(None, tmp_path, "Pairs", values, invariants=ALWAYS, eventually="EveryJobStarts")


@pytest.mark.model
@pytest.mark.parametrize(("unreachable", "calls"), [("start", (1, 3)), ("yield", (1, 1))])
def test_no_fault_makes_half_a_pair_unsaid(unreachable: str, calls: tuple[int, int], tmp_path: Path) -> None:
    expect(None, tmp_path, "Pairs", faulty(unreachable, calls=calls), invariants=ALWAYS)


def queued_again(say: frozenset[str], calls: tuple[int, int]) -> dict[str, object]:
    """One pair, whose calls may arrive at any later time, and which is queued again once."""
    return faulty("start", calls=calls) | {"Others": frozenset(), "MaxRuns": 2, "SayRuns": say}


@pytest.mark.parametrize(("say", "failure"), [(BOTH_CALLS, None), (frozenset({"start"}), HALF)])
def test_a_call_that_arrives_after_its_run_starts_nothing(say: frozenset[str], failure: str, tmp_path: Path) -> None:
    """ "a job that waits and has begun more runs than the call says is not started" """
    expect(failure, tmp_path, "Pairs", queued_again(say, (1, 1)), invariants=ALWAYS)


@pytest.mark.model
@pytest.mark.parametrize(("say", "failure"), [(BOTH_CALLS, None), (frozenset({"try"}), HALF)])
def test_so_does_none_for_a_job_that_is_ready_again(say: frozenset[str], failure: str, tmp_path: Path) -> None:
    """A job that has started as it was ready is said to have the same hold when it is ready again."""
    expect(failure, tmp_path, "Pairs", queued_again(say, (1, 3)), invariants=ALWAYS)


def taken_alone(without: str | None = None, calls: tuple[int, int] = (1, 0)) -> dict[str, object]:
    """One pair; a job that has started alone, its call still under way, is queued again before its mate has run."""
    return faulty("start", without, calls) | {"Others": frozenset(), "MaxRuns": 2, "TakenAlone": True}


@pytest.mark.parametrize(("without", "failure"), [(None, None), ("VoidsAtRequeue", NEVER)])
def test_a_call_of_a_job_that_has_started_alone_is_made_void_when_that_is_queued_again(
    without: str | None, failure: str | None, tmp_path: Path
) -> None:
    """Else half a pair may start, by a copy that arrives very late."""
    values = taken_alone(without)
    expect(failure, tmp_path, "Pairs", values, invariants=ALWAYS, eventually="EveryFaultEnds")


@pytest.mark.model
def test_so_it_is_if_both_jobs_ask(tmp_path: Path) -> None:
    expect(None, tmp_path, "Pairs", taken_alone(calls=(1, 2)), invariants=ALWAYS, eventually="EveryFaultEnds")


DEAD = "NobodyHoldsForTheDead"
MAY_CANCEL = {"Cancels": frozenset("B"), "Others": frozenset("B"), "ReleaseTimer": False}
ALONE_THERE = {"Cancels": frozenset("B")}  # others who come again and again keep a machine for themselves


@pytest.mark.parametrize("without", ["News", "Check"])
def test_nobody_holds_for_a_mate_that_was_cancelled(without: str, tmp_path: Path) -> None:
    """ "with news and check off, a holder whose mate has ended starts or gives up fails" (life.md)"""
    one = world(ONE, HOLD, without, **MAY_CANCEL)
    assert check(tmp_path, "Pairs", one, invariants=ALWAYS, eventually=DEAD).failure is None
    neither = one | {"News": False, "Check": False}
    assert check(tmp_path, "Pairs", neither, invariants=ALWAYS, eventually=DEAD).failure == NEVER


@pytest.mark.model
@pytest.mark.parametrize(
    "values",
    [
        pytest.param(world(FIGURE_2, HOLD, **ALONE_THERE), id="hold-hold, crossing"),
        pytest.param(world(FIGURE_2, MIXED, **ALONE_THERE), id="hold-yield, crossing"),
        pytest.param(world(ONE, HOLD, Submitted=False, **ALONE_THERE), id="submitted one by one"),
    ],
)
def test_every_job_starts_or_is_cancelled(values: dict[str, object], tmp_path: Path) -> None:
    for eventually in ("EveryJobStarts", DEAD):
        expect(None, tmp_path, "Pairs", values, invariants=ALWAYS, eventually=eventually)


@pytest.mark.model
@pytest.mark.parametrize("without", ["News", "Check"])
def test_news_that_is_lost_doubled_and_late_ends_each_hold(without: str, tmp_path: Path) -> None:
    values = faulty("start", without, calls=(2, 1)) | {"Cancels": frozenset("B"), "ReleaseTimer": False}
    expect(None, tmp_path, "Pairs", values, invariants=ALWAYS, eventually=DEAD, behaviour="NewsSpec")


@pytest.mark.model
def test_a_call_that_was_given_up_is_made_void(tmp_path: Path) -> None:
    values = faulty("yield", calls=(1, 0))
    expect(None, tmp_path, "Pairs", values, invariants=ALWAYS, eventually="EveryFaultEnds")


@pytest.mark.model
@pytest.mark.parametrize(
    ("values", "failure"),
    [
        pytest.param(world(FIGURE_2, HOLD, "ReleaseTimer"), STANDSTILL, id="release timer: Figure 2"),
        pytest.param(world(FOUR_PAIRS, HOLD, "WantedFirst", CallsCross=False), NEVER, id="wanted first: four pairs"),
        pytest.param(world(FIGURE_2, HOLD, "Jitter"), NEVER, id="jitter: holds change places"),
        pytest.param(world(FIGURE_2, YIELD, "LooksAgain"), STANDSTILL, id="another look: both yield"),
        pytest.param(faulty("start", "PersistFirst"), TWICE, id="persist first: a job starts twice"),
        pytest.param(faulty("start", "FirstAnswer"), HALF, id="first answer: a late copy"),
        pytest.param(faulty("yield", "Generations"), HALF, id="generations: a call for an earlier hold"),
        pytest.param(faulty("yield", "Voids", (1, 0)), NEVER, id="voids: a call that was given up"),
    ],
)
def test_without_a_rule_the_known_failure_is_back(values: dict[str, object], failure: str, tmp_path: Path) -> None:
    looked_for = (failure,) if failure in ALWAYS else ALWAYS
    ends = "EveryFaultEnds" if values["Faults"] else "EveryJobStarts"
    eventually = "" if failure in ALWAYS else ends
    expect(failure, tmp_path, "Pairs", values, invariants=looked_for, eventually=eventually)
