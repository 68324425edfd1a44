"""The qualitative claims of V-D: performance under various system loads."""

from __future__ import annotations

from collections.abc import Iterator

from cosched.sim.results.estimate import shown
from cosched.sim.studies.claims import Claim, Verdict, all_of, because, mean_of, missing, positive
from cosched.sim.studies.tang2011.cases import BY_LOAD
from cosched.sim.studies.tang2011.paper.comparisons import (
    extras,
    hold_minus_yield,
    rises,
    sides,
    steps,
    worse_under_hold,
    yield_minus_hold,
)
from cosched.sim.studies.tang2011.results import EXTRA, LOSS, OTHERS_WAIT, PAIRED, SLOWDOWN, SYNC, WAIT, Results
from cosched.sim.studies.tang2011.setup import BASE, E_HOLDS, HIGH, I_HOLDS, LOADS, MACHINES, MEDIUM, SCHEMES

LOW = LOADS[0]
SMALL_MIN = 10  # extra wait that the paper calls reasonably low
PAPER_WORST_MIN = 8  # Eureka's greatest extra wait in the paper
PAPER_RISE = 0.25  # of Intrepid's slowdown at a medium load: 1.5 of 6.1


def claims_by_load() -> Iterator[Claim[Results]]:
    """Yield the claims in the order of the paper."""
    yield from _of_waits()
    yield from _of_slowdowns()
    yield from _of_schemes()
    yield from _of_sync_times()
    yield from _of_losses()


def _of_waits() -> Iterator[Claim[Results]]:
    yield Claim(
        "Fig. 3(a)",
        "Intrepid waits longer with coscheduling, always",
        "The bar values are all above the base",
        "mean difference above 0 for every combination and load",
        lambda results: positive(extras(results, BY_LOAD, LOADS, "intrepid", WAIT), " min"),
    )
    yield Claim(
        "Fig. 3(a)",
        "The extra wait on Intrepid is small at low and medium loads of Eureka and grows at a high one",
        "But under high load (0.75), the difference grows to 42 minutes",
        "every combination waits longer at 0.75 than at 0.25 and 0.5, by its difference to the base",
        _grows_at_high_load,
    )
    yield Claim(
        "Fig. 3(b)",
        "Eureka's waits are close to the base at any load",
        "the differences between coscheduling results and bases are small",
        f"every extra wait is at most {PAPER_WORST_MIN} min, the paper's worst",
        _eureka_waits_little,
    )


def _of_slowdowns() -> Iterator[Claim[Results]]:
    yield Claim(
        "Fig. 4",
        "Slowdowns follow the waits",
        "The trend of these results is similar to that for the average waiting time",
        "on both machines the extra slowdown of all combinations is greatest at the load at which the extra wait is",
        _slowdown_follows_wait,
    )
    yield Claim(
        "Fig. 4(a)",
        "Intrepid's slowdown rises significantly under a high load of Eureka only",
        "Only under the high Eureka load does the slowdown on Intrepid show a significant increase",
        f"mean rise up to {PAPER_RISE:.0%} of the base (the paper's at 0.5) at low and medium loads, above at high",
        _slowdown_rises_at_high_load,
    )
    yield Claim(
        "Fig. 4(b)",
        "Eureka's slowdowns are close to the base",
        "For Eureka, the slowdowns of coscheduling are fairly close to those of the bases",
        f"every slowdown is at most {PAPER_RISE:.0%} above its base",
        _eureka_slows_little,
    )


def _of_schemes() -> Iterator[Claim[Results]]:
    yield Claim(
        "V-D",
        "The impact on overall performance is reasonably low: mostly under 10 minutes on Intrepid",
        "the increased average waiting time is mostly under 10 minutes, with only one exception under high Eureka load",
        f"every extra wait of Intrepid at low and medium loads is below {SMALL_MIN} min",
        lambda results: all_of(
            extras(results, BY_LOAD, (LOW, MEDIUM), "intrepid", WAIT), lambda value: value.mean < SMALL_MIN, " min"
        ),
    )
    yield Claim(
        "V-D",
        "At a high load, Intrepid waits less where it yields",
        "if we avoid using hold on Intrepid, we can limit the increased average waiting",
        "Intrepid's wait under HH is above YH and under HY above YY at 0.75, on the same workloads",
        lambda results: positive(hold_minus_yield(results, BY_LOAD, (HIGH,), "intrepid", WAIT), " min"),
    )
    yield Claim(
        "V-D",
        "At medium and high loads, hold costs more wait or slowdown than yield",
        "we observe that using hold has worse waiting time or slowdown than using yield",
        "on each machine, with the same remote scheme and load: the wait or the slowdown is greater under hold",
        lambda results: _hold_is_worse(results, (MEDIUM, HIGH)),
    )
    yield Claim(
        "V-D",
        "At a low load this is not so",
        "Under low system load, however, this trend is not observed",
        "at 0.25 at least one of the four comparisons is the other way round in both wait and slowdown",
        _no_trend_at_low_load,
    )


def _of_sync_times() -> Iterator[Claim[Results]]:
    yield Claim(
        "Fig. 5(a)",
        "Where Intrepid holds, its sync time increases with the load of Eureka",
        "As the system load gets higher, the sync time increases",
        "mean sync time of HH and of HY increases from load to load",
        lambda results: positive(steps(results, BY_LOAD, LOADS, "intrepid", SYNC, I_HOLDS), " min"),
    )
    yield Claim(
        "Fig. 5(a)",
        "Intrepid: a local yield means more sync time than a local hold",
        "using yield on the local machine results in more average sync time than using does hold",
        "with the same remote scheme and load, on the same workloads",
        lambda results: positive(yield_minus_hold(results, BY_LOAD, LOADS, "intrepid", SYNC), " min"),
    )
    yield Claim(
        "Fig. 5(b)",
        "Eureka: a local hold means less sync time, except at 0.75 with Intrepid on hold",
        "using hold consumes less overhead than using yield, except for the 0.75/H group",
        "with the same remote scheme and load, on the same workloads; the exception is not asked for",
        _eureka_hold_synchronises,
    )


def _of_losses() -> Iterator[Claim[Results]]:
    yield Claim(
        "Fig. 6(a)",
        "Intrepid loses more node-hours at a higher load of Eureka",
        "When system load gets higher, the lost node-hours on Intrepid in a month increase",
        "mean loss of HH and of HY increases from load to load",
        lambda results: positive(steps(results, BY_LOAD, LOADS, "intrepid", LOSS, I_HOLDS), " node-hours"),
    )
    yield Claim(
        "Fig. 6(b)",
        "Eureka's loss is unrelated to its load, and least at the high one",
        "The high load case causes the least node-hour loss",
        "mean loss of HH and of YH is least at 0.75",
        _eureka_loses_least_at_high_load,
    )
    yield Claim(
        "Figs. 5, 6",
        "Hold trades service units for sync time",
        "using the hold scheme results in less average synchronization time for paired jobs than using yield, "
        "but it causes extra loss in system utilization",
        "in the mean over loads and remote schemes, hold has less sync time on each machine, and some loss",
        _trade_off,
    )


def _grows_at_high_load(results: Results) -> Verdict:
    differences = [
        (f"{schemes}, 0.75 against {load:g}", results.step(BY_LOAD, (load, HIGH), schemes, f"intrepid {WAIT}{EXTRA}"))
        for load in (LOW, MEDIUM)
        for schemes in SCHEMES
    ]
    return positive(differences, " min")


def _eureka_waits_little(results: Results) -> Verdict:
    verdict = all_of(
        extras(results, BY_LOAD, LOADS, "eureka", WAIT), lambda value: value.mean <= PAPER_WORST_MIN, " min"
    )
    return because(verdict, lambda: _why_eureka_waits(results))


def _why_eureka_waits(results: Results) -> str:
    """Explain Eureka's mean wait: over all jobs it grows by the share of paired jobs x their sync time."""
    shares = results.means_of(BY_LOAD, LOADS, (BASE,), f"eureka {PAIRED}").values()
    syncs = results.means_of(BY_LOAD, LOADS, SCHEMES, f"eureka {SYNC}").values()
    others = results.means_of(BY_LOAD, LOADS, SCHEMES, f"eureka {OTHERS_WAIT}{EXTRA}").values()
    share, sync = mean_of(shares), mean_of(syncs)
    return (
        f"two minutes pair {share:.0f} % of Eureka's jobs here, whose sync time of {shown(sync)} min makes "
        f"{shown(share * sync / 100)} min of the mean; jobs without a mate wait {shown(mean_of(others))} min longer"
    )


def _slowdown_follows_wait(results: Results) -> Verdict:
    if not extras(results, BY_LOAD, LOADS, MACHINES[0], WAIT):
        return missing()
    found, good = [], True
    for machine in MACHINES:
        wait, slowdown = (_worst_load(results, machine, measure) for measure in (WAIT, SLOWDOWN))
        good &= wait == slowdown
        found.append(f"{machine.capitalize()}: wait at {wait:g}, slowdown at {slowdown:g}")
    return Verdict(good, "; ".join(found), "" if good else "the greatest differences are at different loads")


def _worst_load(results: Results, machine: str, measure: str) -> float:
    """Return the load at which the combinations differ most from the base on average."""
    extra = {load: mean_of(value for _, value in extras(results, BY_LOAD, (load,), machine, measure)) for load in LOADS}
    return max(extra, key=extra.__getitem__)


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
    reason = f"short jobs with a mate make the mean: {_why_eureka_waits(results)}"
    return Verdict(False, f"{verdict.ours} times the base", reason)


def _hold_is_worse(results: Results, loads: tuple[float, ...]) -> Verdict:
    return sides([(name, worse) for load in loads for name, worse in worse_under_hold(results, BY_LOAD, load)])


def _no_trend_at_low_load(results: Results) -> Verdict:
    found = list(worse_under_hold(results, BY_LOAD, LOW))
    worse = sum(value for _, value in found)
    holds = worse < len(found)
    return Verdict(holds, f"hold is worse in {worse} of {len(found)}", "" if holds else "hold is worse there, too")


def _eureka_hold_synchronises(results: Results) -> Verdict:
    named = yield_minus_hold(results, BY_LOAD, LOADS, "eureka", SYNC)
    return positive([(name, value) for name, value in named if name != "HY against HH at 0.75"], " min")


def _eureka_loses_least_at_high_load(results: Results) -> Verdict:
    losses = {
        schemes: [results.mean(BY_LOAD, load, schemes, f"eureka {LOSS}") for load in LOADS] for schemes in E_HOLDS
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
