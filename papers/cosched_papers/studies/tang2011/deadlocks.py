"""The claims of V-B: which pairs start together, what deadlocks, and that all jobs start."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from polars import DataFrame, Expr, col, concat

from cosched_papers.studies.tang2011.cases import BY_LOAD, BY_SHARE, LAST, LONG, LONG_NO_TIMER, SHARE_NO_TIMER
from cosched_papers.studies.tang2011.results import LOSS_SHARE, NEVER, Results
from cosched_papers.studies.tang2011.setup import BASE, MACHINES, YIELDING
from cosched_sim.results.estimate import Estimate, estimate
from cosched_sim.studies.verdicts import OPEN, Range, Verdict, all_of, because, counted, missing

LONG_DAYS = 10  # "more than 10 days"
UNREACHABLE = "unreachable"  # the sensitivity in which mates start alone on purpose
NO_TIMER = (LONG_NO_TIMER, SHARE_NO_TIMER)
STUCK = (col(f"{MACHINES[0]} {NEVER}") > 0) | (col(f"{MACHINES[1]} {NEVER}") > 0)


def synchronised_cases(results: Results) -> DataFrame:
    """Return the cases in which all pairs must start together: with timer, our release order, and an unbroken link."""
    apart = [*NO_TIMER, LAST, UNREACHABLE]
    there = results.rows.filter(col("error").is_null(), col("schemes") != BASE, ~col("experiment").is_in(apart))
    return there.unique("case", keep="first", maintain_order=True)


def never_started(rows: DataFrame) -> DataFrame:
    """Return the cases in which some job never starts."""
    return rows.filter(STUCK)


def _together(results: Results) -> Verdict:
    rows = synchronised_cases(results)
    if rows.is_empty():
        return missing()
    pairs, together = int(rows["pairs.pairs"].sum()), int(rows["pairs.together"].sum())
    ours = f"{together:,} of {pairs:,} pairs in {len(rows):,} cases"
    return counted(ours, _exceptions(rows.filter(col("pairs.together") < col("pairs.pairs")), "some pairs do not"))


def _exceptions(rows: DataFrame, what: str) -> str:
    return "" if rows.is_empty() else f"in {len(rows)} cases {what}: case {rows['case'].item(0)} is the first"


def _deadlocks(results: Results) -> Verdict:
    long = results.of_experiment(LONG_NO_TIMER).filter(col("point") > LONG_DAYS)
    many = results.of_experiment(SHARE_NO_TIMER).filter(col("point") >= 0.1)
    runs = concat([long, many])
    if runs.is_empty():
        return missing()
    dead_long, dead_many = len(never_started(long)), len(never_started(many))
    share = _by_replication(runs, 100.0 * STUCK)
    ours = (
        f"{dead_long} of {len(long)} long runs of V-D, {dead_many} of {len(many)} months of V-E; {share} % of the runs "
        "of a replication"
    )
    verdict = all_of([("runs that deadlock", share)], Range(50), " %")
    return because(replace(verdict, ours=ours), lambda: _how_much_is_held(results))


def _by_replication(rows: DataFrame, of: Expr) -> Estimate:
    """Return the mean of the replications' means."""
    return estimate(rows.group_by("replication", maintain_order=True).agg(of.mean().alias("mean"))["mean"].to_list())


def _how_much_is_held(results: Results) -> str:
    """Say how much is held in the same long runs with the timer on."""
    rows = results.of_experiment(LONG).filter(col("point") > LONG_DAYS)
    if rows.is_empty():
        return "there are no long runs with the timer to compare with"
    shares = [_by_replication(rows, col(f"{machine} {LOSS_SHARE}")) for machine in MACHINES]
    return (
        "a deadlock needs holds on both machines that block each other, and in the mean of the long runs with the "
        f"timer holds take {shares[0]} % of Intrepid and {shares[1]} % of Eureka"
    )


def _both_stop(results: Results) -> Verdict:
    dead = never_started(results.of_experiment(*NO_TIMER))
    if dead.is_empty():
        return Verdict(OPEN, "no run deadlocked", "there was no deadlock to look at")
    one = dead.filter((col(f"{MACHINES[0]} {NEVER}") == 0) | (col(f"{MACHINES[1]} {NEVER}") == 0))
    left = [f"{dead.select(col(f'{of} {NEVER}').mean()).item():,.0f} of {of.capitalize()}" for of in MACHINES]
    ours = f"{len(dead)} deadlocked runs; jobs that never start, in the mean: {' and '.join(left)}"
    return counted(ours, _exceptions(one, "only one machine stops"))


def _all_start(rows: DataFrame) -> Verdict:
    if rows.is_empty():
        return missing()
    rows = rows.unique("case", keep="first", maintain_order=True)
    stuck = never_started(rows)
    return counted(f"{len(rows):,} cases, {len(stuck)} with jobs that never start", _exceptions(stuck, "some never do"))


CHECKS: Mapping[str, Callable[[Results], Verdict]] = {
    "together": _together,
    "deadlocks": _deadlocks,
    "both-stop": _both_stop,
    "never-with-timer": lambda r: _all_start(
        r.rows.filter(col("error").is_null(), ~col("experiment").is_in([*NO_TIMER, LAST]))
    ),
    "all-start": lambda r: _all_start(r.of_experiment(BY_LOAD, BY_SHARE)),
    "yielding-starts": lambda r: _all_start(r.of_experiment(BY_LOAD, BY_SHARE).filter(col("schemes").is_in(YIELDING))),
}
