"""Rules 2 and 4 of docs/meet.md on a cluster of Slurm, against numbers of free nodes, counted second by second."""

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosched_adapters.batch_system import Foreseen
from cosched_adapters.profile import LATE, Asks, Opening
from cosched_adapters.slurm.machine import MachineJob
from cosched_adapters.slurm.plan import MARGIN, Allowance, EarlyStart, Plan, allowance
from cosched_adapters.slurm.reservations import Reservation, new_name
from cosched_adapters.slurm.wants import Node, Wants

NOW = 1000
NODES = [f"n{number}" for number in range(6)]
MAIN = {"main": frozenset(NODES)}
HALF = Fraction(1, 2)
HORIZON = NOW + 400
ODD = Wants(uncounted="its constraint [a|b] is not one list of features with & or with |")


def job(number: int, count: int, limit: int, submitted: int = 900, **fields: object) -> MachineJob:
    """A queued job of the partition main."""
    waits = MachineJob(
        str(number), queued=True, kept_back=False, delayed=False, wants=Wants(), count=count, priority=1000 - number,
        submitted=submitted, limit=limit, end=None, partitions=("main",), reservation=None, nodes=frozenset(),
    )  # fmt: skip
    return replace(waits, **fields)  # type: ignore[arg-type]


def running(number: int, nodes: Sequence[str], end: int | None, **fields: object) -> MachineJob:
    """A job that has these nodes until `end`."""
    return job(number, len(nodes), 60, queued=False, end=end, nodes=frozenset(nodes), **fields)


def plan(*jobs: MachineJob, reservations: Sequence[Reservation] = ()) -> Plan:
    return Plan(NOW, MAIN, jobs, reservations)


# The slow reference: a machine of counted nodes, as meet.md describes it

Taken = list[tuple[int, int, int]]  # nodes, from when, to when


def fits(taken: Taken, at: int, count: int, limit: int) -> bool:
    return all(
        sum(nodes for nodes, start, end in taken if start <= second < end) + count <= len(NODES)
        for second in range(at, at + limit)
    )


def earliest(taken: Taken, not_before: int, count: int, limit: int) -> int | None:
    return next((at for at in range(max(NOW, not_before), HORIZON) if fits(taken, at, count, limit)), None)


def admits(taken: Taken, h: MachineJob, k: MachineJob, budget: Fraction, guard: int | None) -> tuple[bool, int | None]:
    """Rule 2: whether k may start, and h's guard if that was needed."""
    if fits(taken, NOW, h.count, h.limit):
        return fits([*taken, (h.count, NOW, NOW + h.limit)], NOW, k.count, k.limit), None
    s = earliest(taken, NOW, h.count, h.limit)
    if not fits(taken, NOW, k.count, k.limit):
        return False, None
    if s is None:
        return True, None
    latest = s + math.floor(budget * (s - h.submitted))
    kept = latest if guard is None else guard
    pushed = earliest([*taken, (k.count, NOW, NOW + k.limit)], NOW, h.count, h.limit)
    return pushed is not None and pushed <= min(max(kept, s), latest), kept


ends = st.lists(st.integers(NOW + 1, NOW + 60), max_size=len(NODES))
counts, limits = st.integers(1, len(NODES) + 1), st.integers(1, 60)


@given(
    ends, counts, limits, st.integers(800, NOW), counts, limits, st.integers(0, 4), st.none() | st.integers(900, 1200)
)
@settings(max_examples=100, deadline=None)
def test_a_wanted_job_starts_if_the_first_one_loses_no_more_than_the_budget(
    busy: list[int], n: int, limit: int, submitted: int, m: int, its_limit: int, quarters: int, guard: int | None
) -> None:
    """A machine without reservations, whose nodes are all alike: agreement in both directions."""
    h, k, budget = job(1, n, limit, submitted), job(2, m, its_limit), Fraction(quarters, 4)
    run = [running(10 + number, [NODES[number]], end) for number, end in enumerate(busy)]
    turn = plan(*run, k, h).may_start("2", budget, {} if guard is None else {"1": guard}, ())
    taken = [(1, 0, end + MARGIN) for end in busy]
    admitted, kept = admits(taken, h, k, budget, guard)
    assert (turn is not None) == admitted
    if turn is not None:
        assert len(set(turn.nodes)) == m
        assert set(turn.nodes) <= set(NODES[len(busy) :])
        assert turn.guard == kept


@given(ends, counts, limits, counts, limits, st.booleans(), st.integers(NOW - 10, NOW + 150))
@settings(max_examples=100, deadline=None)
def test_a_slot_delays_no_reservation_of_the_first_job_that_waits(
    busy: list[int], n: int, limit: int, m: int, its_limit: int, paired: bool, not_before: int
) -> None:
    h, k = job(1, n, limit), job(2, m, its_limit)
    run = [running(10 + number, [NODES[number]], end) for number, end in enumerate(busy)]
    found = plan(*run, k, h).earliest("2", not_before, ["1"] if paired else [])
    taken = [(1, 0, end + MARGIN) for end in busy]
    s = earliest(taken, NOW, n, limit)
    passed_over = s is None or (paired and s == NOW)
    expected = earliest(taken if passed_over else [*taken, (n, s or NOW, (s or NOW) + limit)], not_before, m, its_limit)
    if found is None or expected is None:
        assert found is expected is None
        return
    assert found.at >= expected  # later, if it is free nodes that h has left, but not the same ones all the time
    if passed_over or s == NOW:
        assert found.at == expected
    if not paired:
        assert plan(*run, h).foresee(m, its_limit, (), "main").at == plan(*run, k, h).earliest("2", NOW, ()).at
    if not passed_over:
        assert earliest([*taken, (m, found.at, found.at + its_limit)], NOW, n, limit) == s


def test_a_job_that_comes_now_starts_behind_all_that_wait_and_where_it_must() -> None:
    """Five nodes are busy until 1100. A job of 6 waits for them, and has no limit; what fits before starts now."""
    run = [running(10 + number, [NODES[number]], 1100) for number in range(5)]
    large = plan(*run, job(1, 6, 0))
    free = 1100 + MARGIN
    assert [large.foresee(1, limit, (), "main").at for limit in (free - NOW, free - NOW + 1)] == [NOW, None]
    assert plan(*run).foresee(1, 10**6, ["n5"], "main").at == NOW
    assert plan(*run).foresee(2, 10, ["n5", "n0"], "main").at == free
    assert plan(*run).foresee(1, 10, ["down"], "main") == Foreseen(None, NOW)
    assert plan(*run).foresee(1, 10, (), "other") == Foreseen(None, NOW)
    assert plan(*run).foresee(6, 10, (), None).at == free


@pytest.mark.parametrize(
    ("earliest_at", "guard", "expected"),
    [
        (None, None, Allowance(None, None)),
        (None, 1300, Allowance(None, 1300)),
        (1100, None, Allowance(1200, 1200)),  # half of its wait of 200
        (1101, None, Allowance(1201, 1201)),  # floor(100.5)
        (1100, 1150, Allowance(1150, 1150)),
        (1100, 1050, Allowance(1100, 1050)),  # its reservation has moved beyond the guard
        (1100, 1900, Allowance(1200, 1900)),
    ],
)
def test_the_limit_follows_the_guard_that_was_fixed_first(
    earliest_at: int | None, guard: int | None, expected: Allowance
) -> None:
    """meet.md, 2: "min(max(guard(h), s), s + floor(beta (s - submit(h))))"."""
    assert allowance(900, earliest_at, HALF, guard) == expected


def test_the_budget_as_worked_out_by_hand() -> None:
    """Four of six nodes run for 300 s more; h wants all six since 100 s ago, k two for ten minutes.

    h could start at 1301, and has waited 401 s by then: half of it is 200 s, so up to 1501. k would end at 1600.
    """
    h, k = job(1, 6, 60), job(2, 2, 600)
    look = [running(9, NODES[:4], NOW + 300), h]
    assert plan(*look, k).may_start("2", HALF, {}, ()) is None
    assert plan(*look, replace(k, limit=501)).may_start("2", HALF, {}, ()) == EarlyStart(("n4", "n5"), "1", 1501, 200)
    assert plan(*look, replace(k, limit=502)).may_start("2", HALF, {}, ()) is None
    assert plan(*look, k).may_start("2", Fraction(1), {}, ()) == EarlyStart(("n4", "n5"), "1", 1702, 299)
    assert plan(*look, k).may_start("2", Fraction(1), {"1": 1599}, ()) is None


def test_behind_a_job_that_waits_for_its_mate_there_is_no_limit() -> None:
    look = plan(running(9, NODES[:4], NOW + 300), job(1, 6, 60), job(2, 2, 600))
    assert look.may_start("2", HALF, {}, ["1"]) == EarlyStart(("n4", "n5"))


def test_jobs_that_do_not_wait_for_nodes_are_not_the_first() -> None:
    held, booked = job(1, 6, 60, kept_back=True), job(3, 6, 60, reservation="r")
    look = [running(9, NODES[:4], NOW + 300), held, booked]
    assert plan(*look, job(4, 2, 600)).may_start("4", HALF, {}, ()) == EarlyStart(("n4", "n5"))


def test_jobs_of_other_nodes_are_not_in_the_way() -> None:
    nodes = {"main": frozenset(NODES[:3]), "side": frozenset(NODES[3:])}
    h, k = job(1, 4, 60), job(2, 3, 600, partitions=("side",))
    assert Plan(NOW, nodes, [h, k], []).may_start("2", Fraction(0), {}, ()) is not None
    both = Plan(NOW, nodes, [replace(h, partitions=("main", "side")), running(9, ["n0", "n1", "n2"], NOW + 100), k], [])
    assert both.may_start("2", Fraction(0), {}, ()) is None


@pytest.mark.parametrize("doubtful", [{"wants": ODD}, {"limit": 0}, {"kept_back": True}, {"reservation": "r"}])
def test_a_job_of_which_we_know_too_little_has_its_turn_from_slurm_only(doubtful: dict[str, object]) -> None:
    look = plan(replace(job(2, 1, 10), **doubtful))  # type: ignore[arg-type]
    assert look.may_start("2", HALF, {}, ()) is None
    assert look.leaves_to_slurm("2") == ("kept_back" not in doubtful)
    if doubtful.keys() & {"wants", "limit"}:
        assert look.earliest("2", 0, ()) is None


GPUS = {node: Node(frozenset({"fast" if node in "n0 n1" else "slow"}), {"cpu": 4, "gres/gpu": 2}) for node in NODES}


def gpu(**fields: object) -> Wants:
    """One CPU and one GPU of each node."""
    amounts = {"cpu": 1, "gres/gpu": 1}
    return replace(Wants(amounts=frozenset(amounts.items()), asks=Asks(amounts)), **fields)  # type: ignore[arg-type]


def test_jobs_that_share_nodes_get_slots_where_devices_are_left() -> None:
    """Each node runs one job with a GPU; a pair's job of two GPUs of a node waits, one of one GPU starts."""
    run = [running(10 + n, [node], NOW + 50 + n, wants=gpu()) for n, node in enumerate(NODES)]
    two = replace(job(2, 1, 10), wants=gpu(asks=Asks({"cpu": 1, "gres/gpu": 2})))
    one = job(3, 6, 10, wants=gpu())
    look = Plan(NOW, MAIN, [*run, two, one], [], GPUS)
    assert look.earliest("2", NOW, ()) == Opening(NOW + 50 + MARGIN, ("n0",))
    assert look.may_start("3", HALF, {}, ()) == EarlyStart((*NODES[1:], "n0"), "2", NOW + 51 + 75, 0)


def test_slots_are_where_the_features_are_and_when_licences_are_free() -> None:
    fast = Wants(frozenset([frozenset({"fast"})]))
    run = [running(10, ["n0"], NOW + 50), running(11, ["n5"], NOW + 30, wants=Wants(asks=Asks(None, {"matlab": 3})))]
    look = [job(2, 2, 10, wants=fast), job(3, 1, 10, wants=Wants(asks=Asks(None, {"matlab": 2})))]
    plan = Plan(NOW, MAIN, [*run, *look], [], GPUS, {"matlab": 4})
    assert plan.earliest("2", NOW, ()) == Opening(NOW + 50 + MARGIN, ("n0", "n1"))
    assert plan.earliest("3", NOW, ()).at == NOW + 30 + MARGIN
    booked = Reservation(new_name("9", 1), NOW + 20, NOW + 90, frozenset(["n4"]), 1, {"matlab": 3})
    assert Plan(NOW, MAIN, look, [booked], GPUS, {"matlab": 4}).earliest("3", NOW + 15, ()).at == NOW + 90


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"limit": 0}, "it has no time limit"),
        ({"reservation": "maint"}, "it is in the reservation maint"),
        ({"wants": ODD}, ODD.uncounted),
        ({"wants": Wants(asks=Asks(None, {"matlab": 5}))}, "the cluster has not the licences 5 matlab"),
        ({"wants": Wants(asks=Asks(None, {"foo": 1}))}, "the cluster has not the licences 1 foo"),
        ({"wants": Wants(amounts=frozenset({("gres/gpu", 3)}))}, "there are too few usable nodes that are as it wants"),
        ({"count": 7}, "there are too few usable nodes that are as it wants"),
        ({}, ""),
    ],
)
def test_a_job_is_told_why_no_slot_can_be_planned(fields: dict[str, object], why: str) -> None:
    look = Plan(NOW, MAIN, [replace(job(2, 1, 10), **fields)], [], GPUS, {"matlab": 4})  # type: ignore[arg-type]
    assert look.unplanned("2").startswith(why)
    assert bool(look.unplanned("2")) == bool(why)
    assert bool(why) == (look.earliest("2", NOW, ()) is None)


def test_nobody_is_pushed_of_whom_we_cannot_tell_where_it_may_run() -> None:
    look = plan(running(9, NODES[:4], NOW + 300), job(1, 6, 60, wants=ODD), job(2, 2, 10))
    assert look.may_start("2", Fraction(100), {}, ()) is None


def test_what_is_late_or_still_ends_is_busy_for_a_while() -> None:
    late, endless, k = running(8, NODES[:3], NOW - 5), running(9, NODES[3:5], None), job(2, 2, 10)
    look = plan(late, endless, k)
    assert look.may_start("2", HALF, {}, ()) is None
    found = look.earliest("2", 0, ())
    assert found is not None
    assert found.at == NOW + LATE


def test_a_slot_is_beside_all_reservations_but_its_own() -> None:
    mine, theirs = (
        Reservation(new_name(job_id, 1), NOW + 10, NOW + 90, frozenset(nodes), 3)
        for job_id, nodes in (("2", NODES[:3]), ("3", NODES[3:]))
    )
    k = job(2, 4, 20, reservation=mine.name, kept_back=True, delayed=True)
    both = plan(k, reservations=[mine, theirs]).earliest("2", NOW, ())
    own = plan(replace(k, count=3), reservations=[mine, theirs]).earliest("2", NOW, ())
    assert both is not None
    assert both.at == NOW + 90
    assert own == Opening(NOW, ("n0", "n1", "n2"))
    assert plan(replace(k, reservation=theirs.name), reservations=[mine, theirs]).earliest("2", NOW, ()) is not None
    assert plan(replace(k, reservation="maintenance"), reservations=[mine]).earliest("2", NOW, ()) is None


def test_a_job_that_we_keep_back_may_start_for_its_mate_and_one_that_its_user_holds_may_not() -> None:
    k = job(2, 2, 10, kept_back=True)
    assert plan(replace(k, delayed=True)).may_start("2", HALF, {}, ()) == EarlyStart(("n0", "n1"))
    assert plan(k).may_start("2", HALF, {}, ()) is None
    assert plan(k).earliest("2", NOW, ()) is None


def test_a_ready_job_is_asked_about_on_its_own_nodes() -> None:
    """j stays ready while its mate's domain answers: its nodes are its own, though they look taken."""
    j = running(2, ["n4", "n5"], NOW + 60)
    look = plan(running(9, NODES[:4], NOW + 300), job(1, 2, 30), j)
    assert look.earliest("2", NOW, ()) == Opening(NOW, ("n4", "n5"))
    later = look.earliest("2", NOW + 1, ())
    assert later is not None
    assert later.at == NOW + 30
