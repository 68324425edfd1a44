"""Groups of three on three domains (docs/coscheduling.md): what holds with all rules, what fails without one."""

from pathlib import Path

import pytest

from tests.model.tlc import NEVER, STANDSTILL, expect

RULES = (
    "ReleaseTimer", "Jitter", "LooksAgain", "WantedAnyway", "WantedReleased", "GivesWay", "Rank", "KeepAndAsk",
    "Pauses",
)  # fmt: skip
ALWAYS = ("NobodyStartsTwice", "NothingBeyondTheMachine", "NoHalfGroup")
HOLD = ("hold", "hold", "hold")

Orders = tuple[tuple[int, ...], ...]
ONE: Orders = ((1,), (1,), (1,))
TWO: Orders = ((1, 2), (2, 1), (1, 2))  # two groups, each first somewhere
APART = frozenset({(1, 1), (2, 2), (1, 3)})  # and each holds where the other waits
THREE: Orders = ((1, 2, 3), (2, 3, 1), (3, 1, 2))  # three groups, and room for two jobs in each domain
AROUND = frozenset({(1, 1), (2, 1), (2, 2), (3, 2), (3, 3), (1, 3)})  # each group lacks one domain


def world(orders: Orders, without: str | None = None, **more: object) -> dict[str, object]:
    """All jobs are there from the beginning, each is as large as its machine, all domains hold."""
    rules = {rule: rule != without for rule in RULES}
    plain = {"Places": 1, "Holding": frozenset(), "CallsCross": True}
    return {"Order": orders, "Scheme": HOLD} | plain | rules | more


def apart(without: str | None = None) -> dict[str, object]:
    """Two groups that hold where the other waits, and one proposal at a time, as in simulations."""
    return world(TWO, without, CallsCross=False, Holding=APART)


def around(without: str | None = None) -> dict[str, object]:
    """Three groups, each of which waits for nodes that the other two hold."""
    return world(THREE, without, CallsCross=False, Holding=AROUND, Places=2)


def passing(without: str | None = None) -> dict[str, object]:
    """Two domains yield, and look at a group first whose third member finds no nodes: another group holds them."""
    values = {"CallsCross": False, "Holding": frozenset({(2, 3)}), "Scheme": ("yield", "yield", "hold")}
    return world(((1, 2), (1, 2), (2, 1)), without, **values)


@pytest.mark.model
@pytest.mark.parametrize(
    "values",
    [apart(), around(), passing(), world(ONE, Holding=frozenset({(1, 3)}))],
    ids=["two that hold", "three that hold", "two that yield", "two members propose, the third holds"],
)
def test_all_groups_start(values: dict[str, object], tmp_path: Path) -> None:
    expect(None, tmp_path, "Groups", values, invariants=ALWAYS, eventually="EveryJobStarts")


@pytest.mark.model
def test_calls_of_one_group_that_cross_start_no_half(tmp_path: Path) -> None:
    expect(None, tmp_path, "Groups", world(ONE), invariants=ALWAYS)


@pytest.mark.model
@pytest.mark.parametrize(
    ("values", "failure"),
    [
        pytest.param(
            apart("WantedReleased") | {"GivesWay": False}, NEVER, id="released jobs that a member waits for come last"
        ),
        pytest.param(around("GivesWay"), NEVER, id="gives way: each of three groups takes what another needs"),
        pytest.param(passing("Pauses"), NEVER, id="pauses: two that yield ask each other again and again"),
        pytest.param(apart("ReleaseTimer"), STANDSTILL, id="release timer"),
    ],
)
def test_without_a_rule_the_known_failure_is_back(values: dict[str, object], failure: str, tmp_path: Path) -> None:
    expect(failure, tmp_path, "Groups", values, invariants=ALWAYS, eventually="EveryJobStarts")
