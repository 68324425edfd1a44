"""Groups of three on three domains (docs/groups.md): what holds with all rules, what fails without one."""

from pathlib import Path

import pytest

from tests.model.tlc import NEVER, STANDSTILL, check

RULES = (
    "ReleaseTimer",
    "Jitter",
    "LooksAgain",
    "WantedAnyway",
    "WantedReleased",
    "GivesWay",
    "Rank",
    "KeepAndAsk",
    "BookingsStay",
    "DropIterates",
    "LeaseAsks",
    "DropNamed",
    "LateRefused",
    "RecordNumber",
    "RecordBooking",
    "RecordDecision",
)
ALWAYS = ("NobodyStartsTwice", "NothingBeyondTheMachine", "NoHalfGroup")
HALF = "NoHalfGroup"
HOLD = ("hold", "hold", "hold")

Orders = tuple[tuple[int, ...], ...]
ONE: Orders = ((1,), (1,), (1,))
TWO: Orders = ((1, 2), (2, 1), (1, 2))  # two groups, each first somewhere
APART = frozenset({(1, 1), (2, 2), (1, 3)})  # and each holds where the other waits
THREE: Orders = ((1, 2, 3), (2, 3, 1), (3, 1, 2))  # three groups, and room for two jobs in each domain
AROUND = frozenset({(1, 1), (2, 1), (2, 2), (3, 2), (3, 3), (1, 3)})  # each group lacks one domain


def world(orders: Orders, without: str | None = None, **more: object) -> dict[str, object]:
    """All jobs are there from the beginning, each is as large as its machine, all domains hold, without faults."""
    rules = {rule: rule != without for rule in RULES}
    plain = {"Places": 1, "Holding": frozenset(), "CallsCross": True, "Faults": False, "MaxNumber": (0, 0, 0)}
    return {"Order": orders, "Scheme": HOLD} | plain | rules | more


def apart(without: str | None = None) -> dict[str, object]:
    """Two groups that hold where the other waits, and one proposal at a time, as in simulations."""
    return world(TWO, without, CallsCross=False, Holding=APART)


def around(without: str | None = None) -> dict[str, object]:
    """Three groups, each of which waits for nodes that the other two hold."""
    return world(THREE, without, CallsCross=False, Holding=AROUND, Places=2)


def faulty(without: str | None = None, proposals: tuple[int, ...] = (1, 1, 0), **more: object) -> dict[str, object]:
    """One group and every fault; so many proposals of each member."""
    return world(ONE, without, Faults=True, Jitter=False, MaxNumber=proposals, **more)


@pytest.mark.model
@pytest.mark.parametrize("values", [apart(), around()], ids=["two", "three"])
def test_groups_that_hold_where_others_wait_all_start(values: dict[str, object], tmp_path: Path) -> None:
    outcome = check(tmp_path, "Groups", values, invariants=ALWAYS, eventually="EveryJobStarts")
    print(outcome.states, "states")
    assert outcome.failure is None, outcome.output


@pytest.mark.model
def test_calls_of_one_group_that_cross_start_no_half(tmp_path: Path) -> None:
    outcome = check(tmp_path, "Groups", world(ONE), invariants=ALWAYS)
    print(outcome.states, "states")
    assert outcome.failure is None, outcome.output


@pytest.mark.model
def test_one_proposal_starts_no_half_whatever_the_faults(tmp_path: Path) -> None:
    outcome = check(tmp_path, "Groups", faulty(proposals=(1, 0, 0)), invariants=ALWAYS)
    print(outcome.states, "states")
    assert outcome.failure is None, outcome.output


@pytest.mark.model
@pytest.mark.parametrize(
    ("values", "failure"),
    [
        pytest.param(faulty("LeaseAsks"), HALF, id="a: a lease that ends by the clock"),
        pytest.param(faulty("DropNamed"), HALF, id="b: a late drop of another proposal"),
        pytest.param(faulty("BookingsStay"), HALF, id="c: a booking replaced by rank"),
        pytest.param(apart("WantedReleased"), NEVER, id="d: released jobs that a member waits for come last"),
        pytest.param(around("GivesWay"), NEVER, id="gives way: each of three groups takes what another needs"),
        pytest.param(faulty("RecordDecision"), HALF, id="f: a decision that is forgotten"),
        pytest.param(faulty("RecordBooking"), HALF, id="a booking that is forgotten"),
        pytest.param(faulty("RecordNumber"), HALF, id="a number that is used twice"),
        pytest.param(faulty("LateRefused", (2, 0, 0)), HALF, id="a late copy of an earlier proposal"),
        pytest.param(apart("ReleaseTimer"), STANDSTILL, id="release timer"),
    ],
)
def test_without_a_rule_the_known_failure_is_back(values: dict[str, object], failure: str, tmp_path: Path) -> None:
    outcome = check(
        tmp_path, "Groups", values, invariants=ALWAYS, eventually="" if values["Faults"] else "EveryJobStarts"
    )
    print(outcome.states, "states")
    assert outcome.failure == failure, outcome.output
