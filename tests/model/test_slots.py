"""The slots of a pair (docs/meet.md): what holds with all rules, what fails without one."""

from pathlib import Path

import pytest

from tests.model.tlc import NEVER, check

RULES = (
    "Generations",
    "DropTold",
    "Lapses",
    "OnlyBefore",
    "Keep",
    "ProposerStarts",
    "FirstAnswer",
    "PersistFirst",
    "Voids",
)
HALF = "NoHalfPair"
LATER = "NeverLater"
LAPSES = "NothingLapses"
ALWAYS = ("NobodyStartsTwice", HALF, LATER, LAPSES)


def world(calls: tuple[int, int], without: str | None = None, **more: object) -> dict[str, object]:
    """One pair, slots at two instants and now, and every fault; after so many calls of A and B nothing begins anew."""
    rules = {rule: rule != without for rule in RULES}
    plain = {"Last": 2, "Faults": True, "Unreachable": "start", "MaxCalls": dict(zip("AB", calls, strict=True))}
    return plain | rules | more


def waiting(calls: tuple[int, int], without: str | None = None) -> dict[str, object]:
    """A job yields if its peer is unreachable."""
    return world(calls, without, Unreachable="yield")


def calm(without: str | None = None) -> dict[str, object]:
    """Without faults, and one thing at a time, as in simulations."""
    return world((4, 4), without, Faults=False)


@pytest.mark.model
@pytest.mark.parametrize(
    "values",
    [
        pytest.param(calm(), id="no faults"),
        pytest.param(world((3, 2)), id="every fault, on_peer_unreachable start"),
        pytest.param(waiting((2, 2)), id="every fault, on_peer_unreachable yield"),
    ],
)
def test_slots_start_no_half_pair_and_move_only_to_earlier_instants(values: dict[str, object], tmp_path: Path) -> None:
    outcome = check(tmp_path, "Slots", values, invariants=ALWAYS)
    print(outcome.states, "states")
    assert outcome.failure is None, outcome.output


@pytest.mark.model
@pytest.mark.parametrize(
    ("values", "ends"), [(world((2, 1)), "EverySlotEnds"), (waiting((2, 1)), "EveryFaultEnds")], ids=["slots", "faults"]
)
def test_whatever_is_lost_slots_and_faults_end(values: dict[str, object], ends: str, tmp_path: Path) -> None:
    outcome = check(tmp_path, "Slots", values, invariants=ALWAYS, eventually=ends)
    print(outcome.states, "states")
    assert outcome.failure is None, outcome.output


@pytest.mark.model
@pytest.mark.parametrize(
    ("values", "failure", "ends"),
    [
        pytest.param(world((4, 1), "Generations"), LATER, "", id="generations: a late move of an earlier slot"),
        pytest.param(calm("DropTold"), LAPSES, "", id="drop told: nodes stay booked for nothing"),
        pytest.param(calm("Keep"), LAPSES, "", id="keep: an agreed slot lapses"),
        pytest.param(world((2, 1), "Lapses"), NEVER, "EverySlotEnds", id="lapse: a slot for ever"),
        pytest.param(world((3, 1), "OnlyBefore"), LATER, "", id="only before: a late move"),
        pytest.param(world((2, 1), "ProposerStarts"), HALF, "", id="the proposer starts: its answer was lost"),
        pytest.param(waiting((2, 1), "FirstAnswer"), HALF, "", id="first answer: a late copy"),
        pytest.param(world((2, 1), "PersistFirst"), HALF, "", id="persist first: a slot that is forgotten"),
        pytest.param(waiting((1, 1), "Voids"), NEVER, "EveryFaultEnds", id="voids: a call that was given up"),
    ],
)
def test_without_a_rule_the_known_failure_is_back(
    values: dict[str, object], failure: str, ends: str, tmp_path: Path
) -> None:
    outcome = check(tmp_path, "Slots", values, invariants=ALWAYS, eventually=ends)
    print(outcome.states, "states")
    assert outcome.failure == failure, outcome.output
