"""What members of a group promise each other under every fault (coscheduling.md), and what fails without a rule."""

from pathlib import Path

import pytest

from tests.model.tlc import NEVER, expect

RULES = (
    "BookingsStay", "DropNamed", "LateRefused", "RecordNumber", "RecordBooking", "RecordDecision", "MoveNamed",
    "AllAsked", "BookedKeeps", "Lapses",
)  # fmt: skip
HALF = "NoHalfGroup"
LATER = "NeverLater"
ALWAYS = ("NobodyStartsTwice", HALF, LATER, "OneSlot")
PAIR = frozenset({1, 2})
LAST_IS_LATER = frozenset({3})  # the third member has a later window than the two others


def world(proposals: tuple[int, ...], without: str | None = None, **more: object) -> dict[str, object]:
    """One group and every fault; so many proposals of each member, and no slots."""
    rules = {rule: rule != without for rule in RULES}
    plain = {"Members": frozenset({1, 2, 3}), "MaxNumber": proposals, "Last": 0}
    return plain | {"Later": frozenset(), "MayLeave": frozenset(), "Lease": "asks"} | rules | more


@pytest.mark.model
@pytest.mark.parametrize(
    "values",
    [
        pytest.param(world((2, 2, 0)), id="two proposers, two proposals each"),
        pytest.param(world((1, 1, 1)), id="three proposers"),
        pytest.param(world((1, 1, 0), MayLeave=frozenset({1, 2, 3})), id="members are cancelled, and lose nodes"),
        pytest.param(world((2, 0, 0), Last=2), id="slots, one proposer"),
        pytest.param(world((1, 1, 0), Last=2), id="slots, two proposers"),
        pytest.param(world((2, 1), Last=2, Members=PAIR), id="slots of a pair"),
        pytest.param(world((1, 1), Last=2, Members=PAIR, MayLeave=PAIR), id="slots of a pair, lost nodes"),
        pytest.param(world((2, 0, 0), Last=1, Later=LAST_IS_LATER), id="windows"),
    ],
)
def test_whatever_goes_wrong_no_half_group_starts(values: dict[str, object], tmp_path: Path) -> None:
    expect(None, tmp_path, "Promises", values, invariants=ALWAYS)


@pytest.mark.model
@pytest.mark.parametrize(
    ("values", "ends"),
    [(world((2, 1, 0)), "EveryBookingEnds"), (world((1, 1, 0), Last=1), "EverySlotEnds")],
    ids=["bookings", "slots"],
)
def test_whatever_is_lost_bookings_and_slots_end(values: dict[str, object], ends: str, tmp_path: Path) -> None:
    expect(None, tmp_path, "Promises", values, invariants=ALWAYS, eventually=ends)


@pytest.mark.model
@pytest.mark.parametrize(
    ("values", "failure", "ends"),
    [
        pytest.param(world((1, 1, 0), Lease="clock"), HALF, "", id="a lease that ends by the clock"),
        pytest.param(world((1, 1, 0), Lease="never"), NEVER, "EveryBookingEnds", id="nobody asks for the outcome"),
        pytest.param(world((1, 1, 0), "DropNamed"), HALF, "", id="a late drop of another proposal"),
        pytest.param(world((1, 1, 0), "BookingsStay"), HALF, "", id="a booking replaced by rank"),
        pytest.param(world((2, 0, 0), "LateRefused"), HALF, "", id="a late copy of an earlier proposal"),
        pytest.param(world((1, 1, 0), "RecordNumber"), HALF, "", id="a number that is used twice"),
        pytest.param(world((1, 1, 0), "RecordBooking"), HALF, "", id="a booking that is forgotten"),
        pytest.param(world((1, 1, 0), "RecordDecision"), HALF, "", id="a decision that is forgotten"),
        pytest.param(world((1, 1, 0), "MoveNamed", Last=2), LATER, "", id="slots: a late move"),
        pytest.param(world((1, 0, 0), "AllAsked", Last=1), HALF, "", id="slots: each starts at its own"),
        pytest.param(world((1, 0, 0), "Lapses", Last=1), NEVER, "EverySlotEnds", id="slots: a slot for ever"),
        pytest.param(
            world((2, 0, 0), "BookedKeeps", Last=1, Later=LAST_IS_LATER),
            HALF,
            "",
            id="windows: a drop of a promised slot",
        ),
    ],
)
def test_without_a_rule_the_known_failure_is_back(
    values: dict[str, object], failure: str, ends: str, tmp_path: Path
) -> None:
    expect(failure, tmp_path, "Promises", values, invariants=ALWAYS, eventually=ends)
