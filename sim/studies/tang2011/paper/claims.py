"""The qualitative claims of section V as checks: those of V-B, and the list of all."""

from __future__ import annotations

from collections.abc import Iterator

from polars import DataFrame, col

from cosched.sim.studies.claims import Claim, Verdict, missing
from cosched.sim.studies.tang2011.cases import BY_LOAD, BY_SHARE, LAST, LONG, LONG_NO_TIMER, SHARE_NO_TIMER
from cosched.sim.studies.tang2011.paper.claims_by_load import claims_by_load
from cosched.sim.studies.tang2011.paper.claims_by_share import claims_by_share
from cosched.sim.studies.tang2011.results import LOSS_SHARE, NEVER, Results
from cosched.sim.studies.tang2011.setup import BASE, MACHINES, YIELDING

LONG_DAYS = 10  # "more than 10 days"
UNREACHABLE = "unreachable"  # the sensitivity in which mates start alone on purpose
NO_TIMER = (LONG_NO_TIMER, SHARE_NO_TIMER)


def claims() -> list[Claim[Results]]:
    """Return all claims, in the order of the paper."""
    return [*_validation(), *claims_by_load(), *claims_by_share()]


def _validation() -> Iterator[Claim[Results]]:
    yield Claim(
        "V-B",
        "All pairs start together, whatever the schemes, loads and shares",
        "all the paired jobs start at the same time with their own mate jobs no matter which one gets ready first",
        "every pair of every case with the timer on, the paper's release order and cut links apart",
        _together,
    )
    yield Claim(
        "V-B",
        "Without the release timer, hold-hold is likely to deadlock in more than 10 days",
        "deadlocks are highly likely to be observed when the simulation time span more than 10 days",
        "at least half of such runs (V-D at a load of 0.75, V-E with 10 % or more paired) deadlock",
        _deadlocks,
    )
    yield Claim(
        "V-B",
        "In a deadlock the queues of both machines keep growing, and no job starts",
        "the job queues on both machines keep growing, but no job can start",
        "in every deadlocked run, both machines have jobs that never start",
        _both_stop,
    )
    yield Claim(
        "V-B",
        "With the timer deadlocks never happen",
        "With the enhancement, this phenomenon never happens",
        "every job of every case with the timer starts, the paper's release order apart",
        _never_with_timer,
    )
    yield Claim(
        "V-B",
        "A cap below the whole machine is not needed",
        "The simulations ran successfully when we set the nodes that could be used for holding as the whole system",
        "every job of V-D and V-E starts with a cap of 1",
        lambda results: _all_start(results.of_experiment(BY_LOAD, BY_SHARE)),
    )
    yield Claim(
        "V-B",
        "Yielding without a limit starves nobody",
        "no starvation was observed",
        "every job of V-D and V-E starts where a machine yields",
        lambda results: _all_start(results.of_experiment(BY_LOAD, BY_SHARE).filter(col("schemes").is_in(YIELDING))),
    )


def synchronised_cases(results: Results) -> DataFrame:
    """Return the cases in which all pairs must start together: with timer, our release order, and an unbroken link."""
    apart = [*NO_TIMER, LAST, UNREACHABLE]
    there = results.cases.filter(col("error").is_null(), col("schemes") != BASE, ~col("experiment").is_in(apart))
    return there.unique("case", keep="first", maintain_order=True)


def never_started(rows: DataFrame) -> DataFrame:
    """Return the cases in which some job never starts."""
    return rows.filter((col(f"{MACHINES[0]} {NEVER}") > 0) | (col(f"{MACHINES[1]} {NEVER}") > 0))


def _together(results: Results) -> Verdict:
    rows = synchronised_cases(results)
    if rows.is_empty():
        return missing()
    pairs, together = int(rows["pairs.pairs"].sum()), int(rows["pairs.together"].sum())
    ours = f"{together:,} of {pairs:,} pairs in {len(rows):,} cases"
    apart = rows.filter(col("pairs.together") < col("pairs.pairs"))
    reason = (
        ""
        if apart.is_empty()
        else f"in {len(apart)} cases some pairs do not: case {apart['case'].item(0)} is the first"
    )
    return Verdict(pairs == together, ours, reason)


def _deadlocks(results: Results) -> Verdict:
    long = results.of_experiment(LONG_NO_TIMER).filter(col("point") > LONG_DAYS)
    many = results.of_experiment(SHARE_NO_TIMER).filter(col("point") >= 0.1)
    runs = len(long) + len(many)
    if not runs:
        return missing()
    dead_long, dead_many = len(never_started(long)), len(never_started(many))
    ours = f"{dead_long} of {len(long)} long runs of V-D, {dead_many} of {len(many)} months of V-E"
    if 2 * (dead_long + dead_many) >= runs:
        return Verdict(True, ours)
    return Verdict(False, ours, f"{dead_long + dead_many} of {runs}: {_how_much_is_held(results)}")


def _how_much_is_held(results: Results) -> str:
    """Say how much is held in the same long runs with the timer on."""
    rows = results.of_experiment(LONG).filter(col("point") > LONG_DAYS)
    shares = [rows.select(col(f"{machine} {LOSS_SHARE}").mean()).item() or 0.0 for machine in MACHINES]
    return (
        "a deadlock needs holds on both machines that block each other, and in the mean of the long runs with the "
        f"timer holds take {shares[0]:.1f} % of Intrepid and {shares[1]:.1f} % of Eureka"
    )


def _both_stop(results: Results) -> Verdict:
    dead = never_started(results.of_experiment(*NO_TIMER))
    if dead.is_empty():
        return Verdict(False, "no run deadlocked", "there was no deadlock to look at")
    one = dead.filter((col(f"{MACHINES[0]} {NEVER}") == 0) | (col(f"{MACHINES[1]} {NEVER}") == 0))
    left = [
        f"{dead.select(col(f'{machine} {NEVER}').mean()).item():,.0f} of {machine.capitalize()}" for machine in MACHINES
    ]
    ours = f"{len(dead)} deadlocked runs; jobs that never start, in the mean: {' and '.join(left)}"
    return Verdict(one.is_empty(), ours, "" if one.is_empty() else f"in {len(one)} runs only one machine stops")


def _never_with_timer(results: Results) -> Verdict:
    return _all_start(results.cases.filter(col("error").is_null(), ~col("experiment").is_in([*NO_TIMER, LAST])))


def _all_start(rows: DataFrame) -> Verdict:
    if rows.is_empty():
        return missing()
    rows = rows.unique("case", keep="first", maintain_order=True)
    stuck = never_started(rows)
    reason = "" if stuck.is_empty() else f"in {len(stuck)} cases not: case {stuck['case'].item(0)} is the first"
    return Verdict(stuck.is_empty(), f"{len(rows):,} cases, {len(stuck)} with jobs that never start", reason)
