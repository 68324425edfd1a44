"""The qualitative claims of V-E: performance under various paired job proportions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from cosched.sim.results.estimate import shown
from cosched.sim.studies.claims import Claim, Verdict, all_of, because, mean_of, missing, positive
from cosched.sim.studies.tang2011.cases import BY_LOAD, BY_SHARE
from cosched.sim.studies.tang2011.paper.comparisons import (
    extras,
    hold_minus_yield,
    sides,
    steps,
    worse_under_hold,
    yield_minus_hold,
)
from cosched.sim.studies.tang2011.results import LOSS, SLOWDOWN, SYNC, WAIT, Results
from cosched.sim.studies.tang2011.setup import (
    BASE,
    E_HOLDS,
    E_YIELDS,
    I_HOLDS,
    I_YIELDS,
    LOADS,
    MACHINES,
    SCHEMES,
    SHARES,
)

FIFTH, THIRD = SHARES[-2:]  # 20 % and 33 %
COMPARABLE = 0.1  # the greatest difference, as a share: 100 min against 90 to 100
MARKED = 0.1  # the least rise that is noticeable, as a share
SMALL_MIN = 38  # the paper's greatest extra wait on Intrepid at 20 %


def claims_by_share() -> Iterator[Claim[Results]]:
    """Yield the claims in the order of the paper."""
    yield from _of_waits()
    yield from _of_slowdowns()
    yield from _of_the_whole()
    yield from _of_sync_times()
    yield from _of_losses()


def _of_waits() -> Iterator[Claim[Results]]:
    yield Claim(
        "Fig. 7(a)",
        "The more jobs are paired, the longer Intrepid waits",
        "the higher the paired job ratio is, the more the relative waiting time increase is on Intrepid",
        "the extra wait, in the mean over the combinations, grows from share to share",
        lambda results: _grows(results, "intrepid", WAIT),
    )
    yield Claim(
        "Fig. 7(a)",
        "With a third of the jobs paired, Intrepid waits considerably longer under hold",
        "the average waiting time gets considerably worse with the hold scheme",
        "at 33 %, Intrepid's wait under HH is above YH and under HY above YY, on the same workloads",
        lambda results: positive(hold_minus_yield(results, BY_SHARE, (THIRD,), "intrepid", WAIT), " min"),
    )
    yield Claim(
        "Fig. 7(a)",
        "With yield, a third paired is like a fifth paired on Intrepid",
        "the average waiting in this case is comparable to the case with 20% paired jobs",
        f"the wait of YH and of YY at 33 % is within {COMPARABLE:.0%} of that at 20 %",
        lambda results: _comparable(results, "intrepid", I_YIELDS),
    )
    yield Claim(
        "Fig. 7(b)",
        "The more jobs are paired, the longer Eureka waits",
        "the higher the paired job ratio is, the more the relative waiting time increase is on Eureka",
        "the extra wait, in the mean over the combinations, grows from share to share",
        lambda results: _grows(results, "eureka", WAIT),
    )
    yield Claim(
        "Fig. 7(b)",
        "Under 20 % paired, Eureka is not significantly impacted",
        "The overall performance is not significantly impacted when the proportion of paired jobs is under 20%",
        "every extra wait of Eureka up to 10 % paired is at most 10 min",
        lambda results: all_of(
            extras(results, BY_SHARE, SHARES[:3], "eureka", WAIT), lambda value: value.mean <= 10, " min"
        ),
    )
    yield Claim(
        "Fig. 7(b)",
        "With a third paired, Eureka waits noticeably longer under hold, and as at 20 % under yield",
        "using hold (HH and YH) can cause a noticeable performance degradation, and using yield (HY and YY) can "
        "achieve performance similar to the 20% proportion case",
        f"the wait at 33 % is more than {MARKED:.0%} above that at 20 % for HH and YH, within {COMPARABLE:.0%} for HY "
        "and YY",
        _eureka_at_a_third,
    )


def _of_slowdowns() -> Iterator[Claim[Results]]:
    yield Claim(
        "Fig. 8(a)",
        "Intrepid's slowdown follows its wait",
        "Figure 8(a) shows the results for Intrepid. The trend is similar to the waiting times.",
        "the extra slowdown, in the mean over the combinations, grows from share to share",
        lambda results: _grows(results, "intrepid", SLOWDOWN),
    )
    yield Claim(
        "Fig. 8(b)",
        "The more jobs are paired, the greater Eureka's slowdown",
        "Again, the higher the paired job ratio is, the more the relative waiting time increase is on Eureka",
        "the extra slowdown, in the mean over the combinations, grows from share to share",
        lambda results: _grows(results, "eureka", SLOWDOWN),
    )
    yield Claim(
        "Fig. 8",
        "Hold-hold is the worst where many are paired",
        "Again, hold-hold is the worst case under the high system load",
        "at 33 %, the slowdown under HH is the greatest of the four on each machine",
        _hold_hold_is_worst,
    )


def _of_the_whole() -> Iterator[Claim[Results]]:
    yield Claim(
        "Figs. 7, 8",
        "No significant impact at 20 % paired; a noticeable one at 33 %",
        "coscheduling will not impact system performance significantly with 20% proportion of paired jobs",
        f"no extra wait up to 20 % is above {SMALL_MIN} min (the paper's most), and on each machine the extra wait at "
        f"33 % is more than {MARKED:.0%} above that at 20 %",
        _marked_at_a_third,
    )
    yield Claim(
        "Figs. 7, 8",
        "From 10 % paired on, hold has more impact than yield",
        "when the proportion is 10% or more, the hold scheme shows more negative impact than does the yield scheme",
        "on each machine, with the same remote scheme and share: the wait or the slowdown is greater under hold",
        lambda results: sides([found for share in SHARES[2:] for found in worse_under_hold(results, BY_SHARE, share)]),
    )


def _of_sync_times() -> Iterator[Claim[Results]]:
    yield Claim(
        "Fig. 9(a)",
        "Intrepid's sync time depends more on the load than on the share paired",
        "sync time for paired jobs is more sensitive to the system load than to the proportion of job pairs",
        "greatest less least mean sync time of HH and HY: greater over the loads than over the shares",
        _more_sensitive_to_load,
    )
    yield Claim(
        "Fig. 9(a)",
        "Intrepid: a local hold means less sync time than a local yield",
        "using hold as the local scheme consumes less average sync time than using yield",
        "with the same remote scheme and share, on the same workloads",
        lambda results: positive(yield_minus_hold(results, BY_SHARE, SHARES, "intrepid", SYNC), " min"),
    )
    yield Claim(
        "Fig. 9(b)",
        "Eureka's sync time increases slightly with the share paired",
        "There is a slight trend for overhead to increase as the paired job proportion increases",
        "mean sync time of HH and YH, from 2.5 to 33 %",
        lambda results: positive(steps(results, BY_SHARE, (SHARES[0], THIRD), "eureka", SYNC, E_HOLDS), " min"),
    )
    yield Claim(
        "Fig. 9(b)",
        "Eureka: a local hold means less sync time than a local yield",
        "all the cases using hold as the local scheme are better than using yield in terms of sync time",
        "with the same remote scheme and share, on the same workloads",
        lambda results: positive(yield_minus_hold(results, BY_SHARE, SHARES, "eureka", SYNC), " min"),
    )


def _of_losses() -> Iterator[Claim[Results]]:
    for machine, schemes in (("intrepid", I_HOLDS), ("eureka", E_HOLDS)):
        yield Claim(
            "Fig. 10",
            f"{machine.capitalize()} loses more node-hours the more jobs are paired",
            "On both machines, the loss of service unit increases as the proportion of paired jobs gets higher",
            f"mean loss of {' and of '.join(schemes)} grows from share to share",
            partial(_loses_more, machine, schemes),
        )


def _loses_more(machine: str, schemes: Sequence[str], results: Results) -> Verdict:
    return positive(steps(results, BY_SHARE, SHARES, machine, LOSS, schemes), " node-hours")


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
    wait = mean_of([results.mean(BY_SHARE, SHARES[0], BASE, f"{mate} {WAIT}")])
    return (
        f"{machine.capitalize()}'s jobs wait {shown(sync)} min for their mates, since {mate.capitalize()}'s jobs wait "
        f"{shown(wait)} min without coscheduling"
    )


def _ratio(results: Results, machine: str, schemes: str) -> float | None:
    """Return the wait at 33 % / the wait at 20 %."""
    third, fifth = (results.mean(BY_SHARE, share, schemes, f"{machine} {WAIT}") for share in (THIRD, FIFTH))
    return third.mean / fifth.mean if third and fifth and fifth.mean > 0 else None


def _ratios(results: Results, machine: str, schemes: Sequence[str]) -> dict[str, float] | None:
    found = {name: _ratio(results, machine, name) for name in schemes}
    return None if None in found.values() else {name: ratio for name, ratio in found.items() if ratio is not None}


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
        (_, schemes), value = max(found.items(), key=lambda item: item[1].mean)
        worst[machine.capitalize()] = (schemes, value)
    ours = "; ".join(f"{machine}: {schemes} with {value}" for machine, (schemes, value) in worst.items())
    others = [f"{schemes} on {machine}" for machine, (schemes, _) in worst.items() if schemes != "HH"]
    return Verdict(not others, ours, f"the worst is {', '.join(others)}" if others else "")


def _marked_at_a_third(results: Results) -> Verdict:
    small = all_of(
        [named for machine in MACHINES for named in extras(results, BY_SHARE, SHARES[:4], machine, WAIT)],
        lambda value: value.mean <= SMALL_MIN,
        " min",
    )
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
        found = results.means_of(experiment, points, I_HOLDS, f"intrepid {SYNC}")
        if not found:
            return missing()
        means = [value.mean for value in found.values()]
        ranges.append(max(means) - min(means))
    holds = ranges[0] > ranges[1]
    ours = f"a range of {shown(ranges[0])} min over loads, {shown(ranges[1])} min over shares"
    return Verdict(holds, ours, "" if holds else "the shares move it more")
