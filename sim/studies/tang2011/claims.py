"""The claims of section V (claims.csv), checked against our results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from polars import DataFrame, col

from cosched.sim.results.estimate import shown
from cosched.sim.studies.paper import Claim, Named, Verdict, all_of, because, mean_of, missing, positive, read_claims
from cosched.sim.studies.tang2011.cases import BY_LOAD, BY_SHARE, LAST, LONG, LONG_NO_TIMER, SHARE_NO_TIMER
from cosched.sim.studies.tang2011.comparisons import (
    extras,
    hold_minus_yield,
    rises,
    sides,
    steps,
    worse_under_hold,
    yield_minus_hold,
)
from cosched.sim.studies.tang2011.results import (
    EXTRA,
    LOSS,
    LOSS_SHARE,
    NEVER,
    OTHERS_WAIT,
    PAIRED,
    SLOWDOWN,
    SYNC,
    WAIT,
    Results,
)
from cosched.sim.studies.tang2011.setup import (
    BASE,
    E_HOLDS,
    E_YIELDS,
    HIGH,
    I_HOLDS,
    I_YIELDS,
    LOADS,
    MACHINES,
    MEDIUM,
    SCHEMES,
    SHARES,
    YIELDING,
)

LONG_DAYS = 10  # "more than 10 days"
UNREACHABLE = "unreachable"  # the sensitivity in which mates start alone on purpose
NO_TIMER = (LONG_NO_TIMER, SHARE_NO_TIMER)
LOW = LOADS[0]
SMALL_MIN = 10  # extra wait that the paper calls reasonably low
PAPER_WORST_MIN = 8  # Eureka's greatest extra wait in the paper
PAPER_RISE = 0.25  # of Intrepid's slowdown at a medium load: 1.5 of 6.1
FIFTH, THIRD = SHARES[-2:]  # 20 % and 33 %
COMPARABLE = 0.1  # the greatest difference, as a share: 100 min against 90 to 100
MARKED = 0.1  # the least rise that is noticeable, as a share
FIFTH_MIN = 38  # the paper's greatest extra wait on Intrepid at 20 %


def claims() -> list[Claim[Results]]:
    """Return all claims, in the order of the paper."""
    return read_claims(Path(__file__).with_name("claims.csv"), CHECKS)


def synchronised_cases(results: Results) -> DataFrame:
    """Return the cases in which all pairs must start together: with timer, our release order, and an unbroken link."""
    apart = [*NO_TIMER, LAST, UNREACHABLE]
    there = results.rows.filter(col("error").is_null(), col("schemes") != BASE, ~col("experiment").is_in(apart))
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


def _all_start(rows: DataFrame) -> Verdict:
    if rows.is_empty():
        return missing()
    rows = rows.unique("case", keep="first", maintain_order=True)
    stuck = never_started(rows)
    reason = "" if stuck.is_empty() else f"in {len(stuck)} cases not: case {stuck['case'].item(0)} is the first"
    return Verdict(stuck.is_empty(), f"{len(rows):,} cases, {len(stuck)} with jobs that never start", reason)


def _grows_at_high_load(results: Results) -> Verdict:
    places = [((BY_LOAD, HIGH, schemes), (BY_LOAD, load, schemes)) for load in (LOW, MEDIUM) for schemes in SCHEMES]
    return positive(
        [
            (f"{high[2]}, 0.75 against {low[1]:g}", results.difference(high, low, f"intrepid {WAIT}{EXTRA}"))
            for high, low in places
        ],
        " min",
    )


def why_eureka_waits(results: Results) -> str:
    """Explain Eureka's mean wait: over all jobs it grows by the share of paired jobs x their sync time."""
    shares = results.means_of(BY_LOAD, LOADS, (BASE,), f"eureka {PAIRED}").values()
    syncs = results.means_of(BY_LOAD, LOADS, SCHEMES, f"eureka {SYNC}").values()
    others = results.means_of(BY_LOAD, LOADS, SCHEMES, f"eureka {OTHERS_WAIT}{EXTRA}").values()
    share, sync = mean_of(shares), mean_of(syncs)
    return (
        f"within two minutes {share:.0f} % of Eureka's jobs find a mate, and wait {shown(sync)} min for it, which adds "
        f"{shown(share * sync / 100)} min to the mean of all; jobs without a mate wait "
        f"{shown(mean_of(others))} min longer"
    )


def _slowdown_follows_wait(results: Results) -> Verdict:
    """Compare the loads at which the combinations differ most from the base on average."""
    if not extras(results, BY_LOAD, LOADS, MACHINES[0], WAIT):
        return missing()
    found, good = [], True
    for machine in MACHINES:
        worst = []
        for measure in (WAIT, SLOWDOWN):
            extra = [mean_of(of for _, of in extras(results, BY_LOAD, (at,), machine, measure)) for at in LOADS]
            worst.append(LOADS[extra.index(max(extra))])
        good &= worst[0] == worst[1]
        found.append(f"{machine.capitalize()}: wait at {worst[0]:g}, slowdown at {worst[1]:g}")
    return Verdict(good, "; ".join(found), "" if good else "the greatest differences are at different loads")


def _slowdown_rises_at_high_load(results: Results) -> Verdict:
    rise = [mean_of(value for _, value in rises(results, BY_LOAD, (load,), "intrepid", SLOWDOWN)) for load in LOADS]
    ours = ", ".join(f"{round(part, 2) + 0.0:.0%} at {load:g}" for load, part in zip(LOADS, rise, strict=True))
    holds = max(rise[:2]) <= PAPER_RISE < rise[2]
    reason = "at a high load too it stays below" if rise[2] <= PAPER_RISE else "at a lower load it is above, too"
    return Verdict(holds, ours, "" if holds else reason)


def _eureka_slows_little(results: Results) -> Verdict:
    verdict = all_of(rises(results, BY_LOAD, LOADS, "eureka", SLOWDOWN), lambda value: value.mean <= PAPER_RISE)
    if verdict.holds:
        return verdict
    reason = f"short jobs with a mate make the mean: {why_eureka_waits(results)}"
    return replace(verdict, ours=f"{verdict.ours} times the base", reason=reason)


def _hold_is_worse(results: Results, experiment: str, points: Sequence[float]) -> Verdict:
    return sides([found for point in points for found in worse_under_hold(results, experiment, point)])


def _at_most(named: Sequence[Named], limit: float, *, equal: bool = False) -> Verdict:
    return all_of(named, lambda value: value.mean < limit or (equal and value.mean == limit), " min")


def _no_trend_at_low_load(results: Results) -> Verdict:
    found = list(worse_under_hold(results, BY_LOAD, LOW))
    worse = sum(value for _, value in found)
    holds = worse < len(found)
    return Verdict(holds, f"hold is worse in {worse} of {len(found)}", "" if holds else "hold is worse there, too")


def _eureka_loses_least_at_high_load(results: Results) -> Verdict:
    losses = {
        schemes: [results.mean((BY_LOAD, load, schemes), f"eureka {LOSS}") for load in LOADS] for schemes in E_HOLDS
    }
    if any(loss is None for row in losses.values() for loss in row):
        return missing()
    means = {schemes: [mean_of([loss]) for loss in row] for schemes, row in losses.items()}
    exceptions = [schemes for schemes, row in means.items() if row[-1] != min(row)]
    ours = "; ".join(f"{schemes} {', '.join(map(shown, row))} node-hours" for schemes, row in means.items())
    least = [f"{schemes} at {LOADS[row.index(min(row))]:g}" for schemes, row in means.items() if schemes in exceptions]
    return Verdict(not exceptions, ours, f"the least is {', '.join(least)}" if exceptions else "")


def _trade_off(results: Results) -> Verdict:
    found, good = [], True
    for machine, holds in (("intrepid", I_HOLDS), ("eureka", E_HOLDS)):
        gain = mean_of(value for _, value in yield_minus_hold(results, BY_LOAD, LOADS, machine, SYNC))
        loss = mean_of(results.means_of(BY_LOAD, LOADS, holds, f"{machine} {LOSS}").values())
        good &= gain > 0 and loss > 0
        found.append(f"{machine.capitalize()}: {shown(gain)} min less sync time for {shown(loss)} node-hours")
    return Verdict(good, "; ".join(found), "" if good else "hold does not have less sync time on both machines")


def _mean_extra(results: Results, machine: str, measure: str, share: float) -> float:
    return mean_of(value for _, value in extras(results, BY_SHARE, (share,), machine, measure))


def _grows(results: Results, machine: str, measure: str) -> Verdict:
    """Hold if the measure grows from share to share, averaged over the combinations."""
    means = [_mean_extra(results, machine, measure, share) for share in SHARES]
    falls = [
        f"from {100 * share:g} to {100 * after:g} % ({shown(low)} to {shown(high)})"
        for share, after, low, high in zip(SHARES, SHARES[1:], means, means[1:], strict=False)
        if high <= low
    ]
    unit = " min" if measure == WAIT else ""
    verdict = Verdict(not falls, f"{', '.join(map(shown, means))}{unit}", f"not {', '.join(falls)}" if falls else "")
    return because(verdict, lambda: _why_flat(results, machine))


def _why_flat(results: Results, machine: str) -> str:
    """Say how little a machine's jobs wait for their mates."""
    mate = MACHINES[1 - MACHINES.index(machine)]
    sync = mean_of(results.means_of(BY_SHARE, SHARES, SCHEMES, f"{machine} {SYNC}").values())
    wait = mean_of([results.mean((BY_SHARE, SHARES[0], BASE), f"{mate} {WAIT}")])
    return (
        f"{machine.capitalize()}'s jobs wait {shown(sync)} min for their mates, since {mate.capitalize()}'s jobs wait "
        f"{shown(wait)} min without coscheduling"
    )


def _ratios(results: Results, machine: str, schemes: Sequence[str]) -> dict[str, float] | None:
    """Return the wait at 33 % / the wait at 20 % under each combination; None if one is missing."""
    found = {}
    for name in schemes:
        third, fifth = (results.mean((BY_SHARE, share, name), f"{machine} {WAIT}") for share in (THIRD, FIFTH))
        if third is None or fifth is None or fifth.mean <= 0:
            return None
        found[name] = third.mean / fifth.mean
    return found


def _in_words(ratios: dict[str, float]) -> str:
    return ", ".join(f"{schemes} {ratio - 1:+.0%}" for schemes, ratio in ratios.items())


def _comparable(results: Results, machine: str, schemes: Sequence[str]) -> Verdict:
    ratios = _ratios(results, machine, schemes)
    if ratios is None:
        return missing()
    apart = {name: ratio for name, ratio in ratios.items() if abs(ratio - 1) > COMPARABLE}
    return Verdict(not apart, _in_words(ratios), f"apart: {_in_words(apart)}" if apart else "")


def _eureka_at_a_third(results: Results) -> Verdict:
    held, yielded = _ratios(results, "eureka", E_HOLDS), _ratios(results, "eureka", E_YIELDS)
    if held is None or yielded is None:
        return missing()
    little = {name: ratio for name, ratio in held.items() if ratio <= 1 + MARKED}
    much = {name: ratio for name, ratio in yielded.items() if abs(ratio - 1) > COMPARABLE}
    reasons = [f"no marked rise under {_in_words(little)}"] if little else []
    reasons += [f"under yield it rises, too: {_in_words(much)}"] if much else []
    return Verdict(not reasons, _in_words({**held, **yielded}), "; ".join(reasons))


def _hold_hold_is_worst(results: Results) -> Verdict:
    worst = {}
    for machine in MACHINES:
        found = results.means_of(BY_SHARE, (THIRD,), SCHEMES, f"{machine} {SLOWDOWN}")
        if not found:
            return missing()
        worst[machine.capitalize()] = max(found.items(), key=lambda item: item[1].mean)
    ours = "; ".join(f"{machine}: {place[1]} with {value}" for machine, (place, value) in worst.items())
    others = [f"{place[1]} on {machine}" for machine, (place, _) in worst.items() if place[1] != "HH"]
    return Verdict(not others, ours, f"the worst is {', '.join(others)}" if others else "")


def _marked_at_a_third(results: Results) -> Verdict:
    named = [each for machine in MACHINES for each in extras(results, BY_SHARE, SHARES[:4], machine, WAIT)]
    small = _at_most(named, FIFTH_MIN, equal=True)
    growth = {
        machine.capitalize(): [_mean_extra(results, machine, WAIT, share) for share in (FIFTH, THIRD)]
        for machine in MACHINES
    }
    ours = "; ".join(
        f"{machine}: {shown(fifth)} min at 20 %, {shown(third)} min at 33 %"
        for machine, (fifth, third) in growth.items()
    )
    flat = [machine for machine, (fifth, third) in growth.items() if third <= fifth * (1 + MARKED)]
    reasons = ([] if small.holds else [small.reason]) + ([f"no marked rise on {' and '.join(flat)}"] if flat else [])
    verdict = Verdict(not reasons, ours, "; ".join(reasons))
    return because(verdict, lambda: _why_flat(results, "intrepid"))


def _more_sensitive_to_load(results: Results) -> Verdict:
    ranges = []
    for experiment, points in ((BY_LOAD, LOADS), (BY_SHARE, SHARES)):
        means = [of.mean for of in results.means_of(experiment, points, I_HOLDS, f"intrepid {SYNC}").values()]
        if not means:
            return missing()
        ranges.append(max(means) - min(means))
    ours = f"a range of {shown(ranges[0])} min over loads, {shown(ranges[1])} min over shares"
    return Verdict(ranges[0] > ranges[1], ours, "" if ranges[0] > ranges[1] else "the shares move it more")


CHECKS: Mapping[str, Callable[[Results], Verdict]] = {
    "together": _together,
    "deadlocks": _deadlocks,
    "both-stop": _both_stop,
    "never-with-timer": lambda r: _all_start(
        r.rows.filter(col("error").is_null(), ~col("experiment").is_in([*NO_TIMER, LAST]))
    ),
    "all-start": lambda r: _all_start(r.of_experiment(BY_LOAD, BY_SHARE)),
    "yielding-starts": lambda r: _all_start(r.of_experiment(BY_LOAD, BY_SHARE).filter(col("schemes").is_in(YIELDING))),
    "intrepid-longer": lambda r: positive(extras(r, BY_LOAD, LOADS, "intrepid", WAIT), " min"),
    "grows-at-high-load": _grows_at_high_load,
    "eureka-waits-little": lambda r: because(
        _at_most(extras(r, BY_LOAD, LOADS, "eureka", WAIT), PAPER_WORST_MIN, equal=True), lambda: why_eureka_waits(r)
    ),
    "slowdown-follows-wait": _slowdown_follows_wait,
    "slowdown-rises-at-high-load": _slowdown_rises_at_high_load,
    "eureka-slows-little": _eureka_slows_little,
    "impact-is-low": lambda r: _at_most(extras(r, BY_LOAD, (LOW, MEDIUM), "intrepid", WAIT), SMALL_MIN),
    "intrepid-yields": lambda r: positive(hold_minus_yield(r, BY_LOAD, (HIGH,), "intrepid", WAIT), " min"),
    "hold-is-worse": lambda r: _hold_is_worse(r, BY_LOAD, (MEDIUM, HIGH)),
    "no-trend-at-low-load": _no_trend_at_low_load,
    "sync-by-load": lambda r: positive(steps(r, BY_LOAD, LOADS, "intrepid", SYNC, I_HOLDS), " min"),
    "intrepid-yield-syncs": lambda r: positive(yield_minus_hold(r, BY_LOAD, LOADS, "intrepid", SYNC), " min"),
    "eureka-hold-syncs": lambda r: positive(
        [of for of in yield_minus_hold(r, BY_LOAD, LOADS, "eureka", SYNC) if of[0] != "HY against HH at 0.75"], " min"
    ),
    "intrepid-loses-by-load": lambda r: positive(steps(r, BY_LOAD, LOADS, "intrepid", LOSS, I_HOLDS), " node-hours"),
    "eureka-loses-least": _eureka_loses_least_at_high_load,
    "trade-off": _trade_off,
    "intrepid-waits-by-share": lambda r: _grows(r, "intrepid", WAIT),
    "intrepid-hold-at-a-third": lambda r: positive(hold_minus_yield(r, BY_SHARE, (THIRD,), "intrepid", WAIT), " min"),
    "intrepid-yield-at-a-third": lambda r: _comparable(r, "intrepid", I_YIELDS),
    "eureka-waits-by-share": lambda r: _grows(r, "eureka", WAIT),
    "eureka-below-a-fifth": lambda r: _at_most(extras(r, BY_SHARE, SHARES[:3], "eureka", WAIT), SMALL_MIN, equal=True),
    "eureka-at-a-third": _eureka_at_a_third,
    "intrepid-slows-by-share": lambda r: _grows(r, "intrepid", SLOWDOWN),
    "eureka-slows-by-share": lambda r: _grows(r, "eureka", SLOWDOWN),
    "hold-hold-is-worst": _hold_hold_is_worst,
    "marked-at-a-third": _marked_at_a_third,
    "hold-from-a-tenth": lambda r: _hold_is_worse(r, BY_SHARE, SHARES[2:]),
    "load-before-share": _more_sensitive_to_load,
    "intrepid-hold-syncs-by-share": lambda r: positive(yield_minus_hold(r, BY_SHARE, SHARES, "intrepid", SYNC), " min"),
    "eureka-sync-by-share": lambda r: positive(steps(r, BY_SHARE, (SHARES[0], THIRD), "eureka", SYNC, E_HOLDS), " min"),
    "eureka-hold-syncs-by-share": lambda r: positive(yield_minus_hold(r, BY_SHARE, SHARES, "eureka", SYNC), " min"),
    "intrepid-loses-by-share": lambda r: positive(steps(r, BY_SHARE, SHARES, "intrepid", LOSS, I_HOLDS), " node-hours"),
    "eureka-loses-by-share": lambda r: positive(steps(r, BY_SHARE, SHARES, "eureka", LOSS, E_HOLDS), " node-hours"),
}
