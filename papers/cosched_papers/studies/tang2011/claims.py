"""The claims of section V (claims.csv), checked against our results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise, permutations
from statistics import fmean

from cosched_papers.studies.tang2011 import comparisons, setup
from cosched_papers.studies.tang2011.cases import BY_LOAD, BY_SHARE
from cosched_papers.studies.tang2011.comparisons import HOLD_AND_YIELD, averaged, extras, rises, steps, yield_minus_hold
from cosched_papers.studies.tang2011.deadlocks import CHECKS as OF_STARTS
from cosched_papers.studies.tang2011.results import EXTRA, LOSS, OTHERS_WAIT, PAIRED, SLOWDOWN, SYNC, WAIT, Results
from cosched_papers.studies.tang2011.setup import BASE, E_HOLDS, HIGH, I_HOLDS, LOADS, MACHINES, MEDIUM, SCHEMES, SHARES
from cosched_sim.results.estimate import estimate, jackknifed
from cosched_sim.studies import verdicts
from cosched_sim.studies.measured import Values, average, could_be_most, differences, more, pairs, rise
from cosched_sim.studies.paper import Claim, read_claims
from cosched_sim.studies.verdicts import Named, Range, Verdict, all_of, because, below, missing, parts, positive, tally

LOW = LOADS[0]
SMALL_MIN = 10  # extra wait that the paper calls reasonably low
PAPER_WORST_MIN = 8  # Eureka's greatest extra wait in the paper
PAPER_RISE = 25  # per cent, of Intrepid's slowdown at a medium load: 1.5 of 6.1
FIFTH, THIRD = SHARES[-2:]  # 20 % and 33 %
COMPARABLE = Range(-10, 10)  # per cent: 100 min against 90 to 100
MARKED = 10  # per cent: a greater rise is noticeable
FIFTH_MIN = 38  # the paper's greatest extra wait on Intrepid at 20 %


def claims() -> list[Claim[Results]]:
    """Return all claims, in the order of the paper."""
    return read_claims(__file__, CHECKS)


def _small_and_grows_at_high_load(results: Results) -> Verdict:
    small = _at_most(extras(results, BY_LOAD, (LOW, MEDIUM), "intrepid", WAIT), below(SMALL_MIN))
    measure = f"intrepid {WAIT}{EXTRA}"
    grows = positive((
        (f"{of}, 0.75 against {load:g}", results.difference((BY_LOAD, HIGH, of), (BY_LOAD, load, of), measure))
        for load in (LOW, MEDIUM) for of in SCHEMES
    ), " min")  # fmt: skip
    return parts(("at 0.25 and 0.5", small), ("at 0.75 more by", grows))


def why_eureka_waits(results: Results) -> str:
    """Explain Eureka's mean wait: over all jobs it grows by the share of paired jobs x their sync time."""
    shares = averaged(BY_LOAD, LOADS, "eureka", PAIRED, (BASE,))
    syncs, others = (averaged(BY_LOAD, LOADS, "eureka", of) for of in (SYNC, f"{OTHERS_WAIT}{EXTRA}"))
    share, sync, more = (average(results, of) for of in (shares, syncs, others))
    both = [one * other / 100 for one, other in pairs(results, shares, syncs)]
    adds = estimate(both) if both else None
    return (
        f"within two minutes {share} % of Eureka's jobs find a mate, and wait {sync} min for it, which adds {adds} min "
        f"to the mean of all; jobs without a mate wait {more} min longer"
    )


def _slowdown_follows_wait(results: Results) -> Verdict:
    """Compare the loads at which the combinations differ most from the base on average."""
    if average(results, averaged(BY_LOAD, LOADS, MACHINES[0], f"{WAIT}{EXTRA}")) is None:
        return missing()
    return parts(*((machine.capitalize(), _same_load(results, machine)) for machine in MACHINES))


def _same_load(results: Results, machine: str) -> Verdict:
    """Decide whether the extra wait and the extra slowdown are greatest at the same load."""
    found = {}
    for measure in (WAIT, SLOWDOWN):
        at = {load: averaged(BY_LOAD, (load,), machine, f"{measure}{EXTRA}") for load in LOADS}
        most = could_be_most({(one, other): more(results, at[one], at[other]) for one, other in permutations(LOADS, 2)})
        found[measure] = sorted(most)
    ours = ", ".join(f"{measure} at {' or '.join(f'{load:g}' for load in of)}" for measure, of in found.items())
    waits, slowdowns = map(set, found.values())
    if waits == slowdowns and len(waits) == 1:
        return Verdict(verdicts.HOLDS, ours)
    if waits & slowdowns:
        return Verdict(verdicts.OPEN, ours, "at which load one of them is greatest is open")
    return Verdict(verdicts.FAILS, ours, "the greatest differences are at different loads")


def _slowdown_rises_at_high_load(results: Results) -> Verdict:
    def at(load: float) -> Named:
        extra = average(results, averaged(BY_LOAD, (load,), "intrepid", f"{SLOWDOWN}{EXTRA}"))
        name, share = comparisons.as_shares(results, BY_LOAD, load, "intrepid", SLOWDOWN, (f"at {load:g}", extra))
        return name, share and share.times(100)

    lower = all_of(map(at, LOADS[:2]), Range(high=PAPER_RISE), " %")
    return parts(("at 0.25 and 0.5", lower), ("at 0.75", all_of([at(HIGH)], verdicts.above(PAPER_RISE), " %")))


def _eureka_slows_little(results: Results) -> Verdict:
    verdict = all_of(rises(results, BY_LOAD, LOADS, "eureka", SLOWDOWN), Range(high=PAPER_RISE / 100), " times")
    verdict = replace(verdict, ours=f"{verdict.ours} the base")
    return because(verdict, lambda: f"short jobs with a mate make the mean: {why_eureka_waits(results)}")


def _at_most(named: Sequence[Named], fits: Range) -> Verdict:
    return all_of(named, fits, " min")


def _no_trend_at_low_load(results: Results) -> Verdict:
    words = comparisons.worse_under_hold(results, BY_LOAD, (LOW,))
    if not words:
        return missing()
    trend = tally(words, "comparisons have more wait or slowdown under hold")
    word = verdicts.opposite(trend.word)
    return Verdict(word, trend.ours, "" if word == verdicts.HOLDS else trend.reason or "hold is worse there, too")


def _eureka_hold_syncs(results: Results) -> Verdict:
    """Decide both the rule and its exception."""
    more_sync = dict(yield_minus_hold(results, BY_LOAD, LOADS, "eureka", SYNC))
    exception = f"HY against HH at {HIGH:g}"
    apart = all_of([(exception, more_sync.pop(exception))], Range(high=0), " min")
    return parts(("elsewhere", positive(more_sync.items(), " min")), ("at 0.75 with Intrepid on hold", apart))


def _eureka_loses_least_at_high_load(results: Results) -> Verdict:
    found = []
    for schemes in E_HOLDS:
        named = steps(results, BY_LOAD, LOADS, "eureka", LOSS, (schemes,))
        least = steps(results, BY_LOAD, LOADS[::2], "eureka", LOSS, (schemes,))[0][1]
        there = [step for _, step in named if step is not None]
        if least is None or len(there) < len(named):
            return missing()
        means = ", ".join(str(results.mean((BY_LOAD, load, schemes), f"eureka {LOSS}")) for load in LOADS)
        rises, falls = (verdicts.all_hold(map(fits.decides, there)) for fits in (verdicts.POSITIVE, below(0)))
        words = {
            "no rise from load to load": verdicts.opposite(rises),
            "no fall from load to load": verdicts.opposite(falls),
            "less at 0.75 than at 0.25": below(0).decides(least),
            "less at 0.75 than at 0.5": below(0).decides(there[-1]),
        }
        found.append((schemes, replace(tally(words, ""), ours=f"{means} node-hours")))
    return parts(*found)


def _trade_off(results: Results) -> Verdict:
    found = []
    for machine, holds in (("intrepid", I_HOLDS), ("eureka", E_HOLDS)):
        yields, hold = zip(*(pair[::-1] for pair in HOLD_AND_YIELD[machine]), strict=True)
        gain = more(results, *(averaged(BY_LOAD, LOADS, machine, SYNC, schemes) for schemes in (yields, hold)))
        loss = average(results, averaged(BY_LOAD, LOADS, machine, LOSS, holds))
        verdict = parts(("", positive([("less sync time", gain)], " min")), ("", positive([("loss", loss)])))
        found.append((machine.capitalize(), replace(verdict, ours=f"{gain} min less sync time for {loss} node-hours")))
    return parts(*found)


def _grows(results: Results, machine: str, measure: str) -> Verdict:
    """Decide whether the measure grows from share to share, averaged over the combinations."""
    at = {share: averaged(BY_SHARE, (share,), machine, f"{measure}{EXTRA}") for share in SHARES}
    unit = " min" if measure == WAIT else ""
    lines = [(f"from {100 * one:g} to {100 * other:g} %", at[other], at[one]) for one, other in pairwise(SHARES)]
    verdict = positive(differences(results, lines), unit)
    means = ", ".join(str(average(results, of)) for of in at.values())
    verdict = replace(verdict, ours=f"{means}{unit}")
    return because(verdict, lambda: _why_flat(results, machine))


def _slowdown_follows_wait_by_share(results: Results) -> Verdict:
    """Decide both halves: there is a wait to follow."""
    verdict = parts(*((of, _grows(results, "intrepid", of)) for of in (WAIT, SLOWDOWN)))
    return because(verdict, lambda: _why_flat(results, "intrepid"))


def _why_flat(results: Results, machine: str) -> str:
    """Say how little a machine's jobs wait for their mates."""
    mate = MACHINES[1 - MACHINES.index(machine)]
    sync = average(results, averaged(BY_SHARE, SHARES, machine, SYNC))
    wait = results.mean((BY_SHARE, SHARES[0], BASE), f"{mate} {WAIT}")
    return (
        f"{machine.capitalize()}'s jobs wait {sync} min for their mates, since {mate.capitalize()}'s jobs wait {wait} "
        "min without coscheduling"
    )


def _rises_to_a_third(results: Results, machine: str, schemes: Sequence[str]) -> list[Named]:
    """Return by how many per cent the wait at 33 % is above that at 20 % under each combination."""
    of = f"{machine} {WAIT}"
    return [(name, rise(results, ((BY_SHARE, THIRD, name), of), ((BY_SHARE, FIFTH, name), of))) for name in schemes]


def _eureka_at_a_third(results: Results) -> Verdict:
    held, yielded = (_rises_to_a_third(results, "eureka", schemes) for schemes in (E_HOLDS, setup.E_YIELDS))
    return parts(("hold", all_of(held, verdicts.above(MARKED), " %")), ("yield", all_of(yielded, COMPARABLE, " %")))


def _intrepid_hold_at_a_third(results: Results) -> Verdict:
    """Decide whether the wait is more than a tenth longer under hold."""
    of = f"intrepid {WAIT}"
    named = [
        (f"{hold} against {other}", rise(results, ((BY_SHARE, THIRD, hold), of), ((BY_SHARE, THIRD, other), of)))
        for hold, other in HOLD_AND_YIELD["intrepid"]
    ]
    return all_of(named, verdicts.above(MARKED), " %")


def _hold_hold_is_worst(results: Results) -> Verdict:
    found = []
    for machine in MACHINES:
        of = f"{machine} {SLOWDOWN}"
        worst, *others = ((BY_SHARE, THIRD, schemes) for schemes in SCHEMES)
        named = [(f"{other[2]} beside HH", results.difference(worst, other, of)) for other in others]
        means = results.means_of(BY_SHARE, (THIRD,), SCHEMES, of)
        ours = ", ".join(f"{name} {value}" for (_, name), value in means.items())
        found.append((machine.capitalize(), replace(positive(named), ours=ours)))
    return parts(*found)


def _marked_at_a_third(results: Results) -> Verdict:
    named = [each for machine in MACHINES for each in extras(results, BY_SHARE, SHARES[:4], machine, WAIT)]
    growth = [("up to 20 %", _at_most(named, Range(high=FIFTH_MIN)))]
    for machine in MACHINES:
        fifth, third = (averaged(BY_SHARE, (share,), machine, f"{WAIT}{EXTRA}") for share in (FIFTH, THIRD))
        rises = [high - (1 + MARKED / 100) * low for high, low in pairs(results, third, fifth)]
        marked, there = estimate(rises) if rises else None, average(results, third)
        named = [("the extra wait at 33 %", there), ("what it is above 1.1 times that at 20 %", marked)]
        verdict = positive(named, " min")
        ours = f"{average(results, fifth)} min at 20 %, {there} min at 33 %"
        growth.append((machine.capitalize(), replace(verdict, ours=ours)))
    return because(parts(*growth), lambda: _why_flat(results, "intrepid"))


def _more_sensitive_to_load(results: Results) -> Verdict:
    loads, shares = (
        [results.values(*of) for of in averaged(experiment, points, "intrepid", SYNC, I_HOLDS)]
        for experiment, points in ((BY_LOAD, LOADS), (BY_SHARE, SHARES))
    )
    numbers = sorted(set.intersection(*map(set, (*loads, *shares))))
    if not numbers:
        return missing()
    by_load, by_share = (partial(_range, values) for values in (loads, shares))
    more_by_load = jackknifed(numbers, lambda some: by_load(some) - by_share(some))
    verdict = positive([("the range over loads less that over shares", more_by_load)], " min")
    ranges = [jackknifed(numbers, of) for of in (by_load, by_share)]
    return replace(verdict, ours=f"a range of {ranges[0]} min over loads, {ranges[1]} min over shares")


def _range(values: Sequence[Values], numbers: Sequence[int]) -> float:
    """Return the greatest less the least mean over some replications."""
    means = [fmean(each[number] for number in numbers) for each in values]
    return max(means) - min(means)


CHECKS: Mapping[str, Callable[[Results], Verdict]] = {
    **OF_STARTS,
    "intrepid-longer": lambda r: positive(extras(r, BY_LOAD, LOADS, "intrepid", WAIT), " min"),
    "small-then-grows": _small_and_grows_at_high_load,
    "eureka-waits-little": lambda r: because(
        _at_most(extras(r, BY_LOAD, LOADS, "eureka", WAIT), Range(high=PAPER_WORST_MIN)), lambda: why_eureka_waits(r)
    ),
    "slowdown-follows-wait": _slowdown_follows_wait,
    "slowdown-rises-at-high-load": _slowdown_rises_at_high_load,
    "eureka-slows-little": _eureka_slows_little,
    "impact-is-low": lambda r: _at_most(extras(r, BY_LOAD, (LOW, MEDIUM), "intrepid", WAIT), below(SMALL_MIN)),
    "intrepid-yields": lambda r: positive(comparisons.hold_minus_yield(r, BY_LOAD, (HIGH,), "intrepid", WAIT), " min"),
    "hold-is-worse": lambda r: tally(comparisons.worse_under_hold(r, BY_LOAD, (MEDIUM, HIGH)), "comparisons"),
    "no-trend-at-low-load": _no_trend_at_low_load,
    "sync-by-load": lambda r: positive(steps(r, BY_LOAD, LOADS, "intrepid", SYNC, I_HOLDS), " min"),
    "intrepid-yield-syncs": lambda r: positive(yield_minus_hold(r, BY_LOAD, LOADS, "intrepid", SYNC), " min"),
    "eureka-hold-syncs": _eureka_hold_syncs,
    "intrepid-loses-by-load": lambda r: positive(steps(r, BY_LOAD, LOADS, "intrepid", LOSS, I_HOLDS), " node-hours"),
    "eureka-loses-least": _eureka_loses_least_at_high_load,
    "trade-off": _trade_off,
    "intrepid-waits-by-share": lambda r: _grows(r, "intrepid", WAIT),
    "intrepid-hold-at-a-third": _intrepid_hold_at_a_third,
    "intrepid-yield-at-a-third": lambda r: all_of(_rises_to_a_third(r, "intrepid", setup.I_YIELDS), COMPARABLE, " %"),
    "eureka-waits-by-share": lambda r: _grows(r, "eureka", WAIT),
    "eureka-below-a-fifth": lambda r: _at_most(extras(r, BY_SHARE, SHARES[:3], "eureka", WAIT), Range(high=SMALL_MIN)),
    "eureka-at-a-third": _eureka_at_a_third,
    "intrepid-slows-by-share": _slowdown_follows_wait_by_share,
    "eureka-slows-by-share": lambda r: _grows(r, "eureka", SLOWDOWN),
    "hold-hold-is-worst": _hold_hold_is_worst,
    "marked-at-a-third": _marked_at_a_third,
    "hold-from-a-tenth": lambda r: tally(comparisons.worse_under_hold(r, BY_SHARE, SHARES[2:]), "comparisons"),
    "load-before-share": _more_sensitive_to_load,
    "intrepid-hold-syncs-by-share": lambda r: positive(yield_minus_hold(r, BY_SHARE, SHARES, "intrepid", SYNC), " min"),
    "eureka-sync-by-share": lambda r: positive(steps(r, BY_SHARE, (SHARES[0], THIRD), "eureka", SYNC, E_HOLDS), " min"),
    "eureka-hold-syncs-by-share": lambda r: positive(yield_minus_hold(r, BY_SHARE, SHARES, "eureka", SYNC), " min"),
    "intrepid-loses-by-share": lambda r: positive(steps(r, BY_SHARE, SHARES, "intrepid", LOSS, I_HOLDS), " node-hours"),
    "eureka-loses-by-share": lambda r: positive(steps(r, BY_SHARE, SHARES, "eureka", LOSS, E_HOLDS), " node-hours"),
}
