"""Holds and backfilling (coscheduling.md): rule 5, and when held nodes are expected back."""

import pytest

from cosched.core.effects import Hold, Yield
from cosched.core.protocol import FOREVER
from tests.core.driver import DomainA, decided
from tests.sim.core.replays import Replay

PAIR = [("a1", "b1")]


@pytest.mark.parametrize(("hold_limit", "decision"), [(1200, Hold), (1199, Yield), (FOREVER, Hold)])
def test_behind_a_reservation_a_hold_must_end_in_time(hold_limit, decision):
    """ "A job that was backfilled, so behind a reservation, may hold only if its hold cannot delay the reserved job:
    its release time plus its requested time is at or before the shadow time, or its nodes fit into extra. Otherwise
    it yields." """
    assert decided(DomainA().hold_or_yield(hold_limit=hold_limit)) == [decision]


@pytest.mark.parametrize(("hold_limit", "decision"), [(10**9, Yield), (FOREVER, Hold)])
def test_behind_a_reservation_a_hold_without_end_is_forbidden(hold_limit, decision):
    assert decided(DomainA(release_interval=0).hold_or_yield(hold_limit=hold_limit)) == [decision]


@pytest.mark.parametrize(
    ("reserved", "interval", "holds_"),
    [(10, 1200, False), (8, 1200, True), (10, 898, True), (10, 899, False), (10, 0, False), (8, 0, True)],
)
def test_behind_a_reservation_on_a_machine(reserved, interval, holds_):
    # a2 is reserved at 1000 (extra 2 if it wants 8 nodes). a1 is ready at 2, for 100 s, and its mate comes at 50.
    run = Replay(
        {"a9": (0, 1000, 8), "a2": (1, 10, reserved), "a1": (2, 100, 2)},
        {"b1": (50, 100, 2)},
        PAIR,
        release_interval=interval,
    )
    assert (run.job("a1").holds, run.job("a1").yields) == ((1, 0) if holds_ else (0, 1))
    assert run.starts() == {"a9": 0, "a2": 1000, "a1": 50, "b1": 50}


def test_where_there_is_no_shadow_nothing_is_forbidden():
    """ "Where there is no shadow time, nothing is forbidden." """
    # a1 holds for ever, so a2 can never have its nodes; a3 holds all the same.
    run = Replay(
        {"a1": (0, 9, 4), "a2": (1, 9, 10), "a3": (2, 900, 2)},
        {"b3": (50, 9, 1), "b1": (500, 9, 1)},
        [*PAIR, ("a3", "b3")],
        release_interval=0,
    )
    assert run.times("a3", "holds") == [2]


@pytest.mark.parametrize(("nodes", "start"), [(1, 3), (3, 1000 + 10)])
def test_a_hold_that_fits_by_nodes_only_uses_extra_up(nodes, start):
    """ "A hold that fits by its nodes only uses extra up." """
    # x is reserved at 1000 with 3 nodes to spare, and runs 10 s. z needs 2 of them if it starts at 3.
    a = {"y": (0, 1000, 5), "x": (1, 10, 7), "a1": (2, 100, nodes), "z": (3, 5000, 2)}
    run = Replay(a, {"b1": (1500, 9, 1)}, PAIR)
    assert run.times("a1", "holds")[0] == 2
    assert run.start("x") == 1000
    assert run.start("z") == start


def test_jobs_that_start_by_nodes_only_use_extra_up_within_one_iteration():
    # As above; z and w come at once, and only one of them fits into extra.
    run = Replay({"y": (0, 1000, 5), "x": (1, 10, 7), "z": (2, 5000, 2), "w": (2, 5000, 2)}, {"b": (0, 9, 1)}, [])
    assert run.starts() == {"y": 0, "x": 1000, "z": 2, "w": 1000 + 10, "b": 0}


@pytest.mark.parametrize(("interval", "run_time", "start"), [(1200, 1195, 5), (1200, 1196, 1200 + 9), (0, 5000, 5)])
def test_held_nodes_are_expected_back_at_the_release(interval, run_time, start):
    """ "For backfilling, held nodes are expected back at the release; with the timer off they are not
    expected back." """
    # x wants all nodes: it is reserved at 1200, a1's release, or never.
    a = {"a1": (0, 9, 4), "x": (1, 9, 10), "z": (5, run_time, 4)}
    assert Replay(a, {"b1": (9000, 9, 1)}, PAIR, release_interval=interval).start("z") == start
