"""The claims of 4.4 (claims.csv), checked against our results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise, product
from pathlib import Path

from cosched.sim.results.estimate import Estimate, shown
from cosched.sim.studies.measured import Of
from cosched.sim.studies.paper import Claim, Named, Verdict, all_of, because, missing, positive, read_claims
from cosched.sim.studies.weissman2004 import setup
from cosched.sim.studies.weissman2004.comparisons import (
    KINDS,
    MOST_FAVOURED,
    SHARES_3,
    SHOWN,
    events_by_reading,
    ideal,
    less_than_baselines,
    names,
    over_all,
    reading_of_limits,
    reading_of_moldable,
    reading_of_totals,
    running_first,
)
from cosched.sim.studies.weissman2004.measuring import EVENTS, EXEC, RATE, TOTAL, WAIT
from cosched.sim.studies.weissman2004.readings import READ
from cosched.sim.studies.weissman2004.results import Results, at_load, grid, linear, of_user
from cosched.sim.studies.weissman2004.setup import BEST, GAUSS, LINEAR, column, percent

FIGURE_9 = column(setup.EVEN_FQ, setup.NO_LIMIT)
TENTH = 0.1
RAREST, DENSEST = setup.BETAS[-1], setup.BETAS[0]
CONTENTION = (
    "the paper says the opposite of waits (figure 15). Under IDEAL-ONLY the queue grows with the trace at any beta, "
    "and at a large one Low-Imp-FR keeps up, so the advantage is greatest there"
)


def claims() -> list[Claim[Results]]:
    """Return all claims, in the order of the paper."""
    return read_claims(Path(__file__).with_name("claims.csv"), CHECKS)


def _ideal_only_waits(results: Results) -> Verdict:
    places = {
        name: at_load(setup.SDSC, setup.LOAD, name, WAIT) for name in (setup.IDEAL_ONLY, setup.BACKFILL, setup.MOLDABLE)
    }
    longest = places.pop(setup.IDEAL_ONLY)
    return positive(((name, results.more(longest, place)) for name, place in places.items()), " min")


def _not_for_all(results: Results) -> Verdict:
    found = {share: less_than_baselines(results, FIGURE_9, TOTAL, (LINEAR,), (share,)) for share in (0.5, 0.1)}
    there = {share: [(n, v) for n, v in named if v is not None] for share, named in found.items()}
    at_large = positive(there[0.5], " min")
    if not at_large.holds:
        return at_large
    if any(value.mean <= 0 for _, value in there[0.1]):
        return Verdict(True, at_large.ours)
    least = min((value for _, value in there[0.1]), key=lambda value: value.mean)
    reason = f"at 10 % it is still below every baseline, by {least} min or more; {reading_of_moldable(results)}"
    return Verdict(False, at_large.ours, reason)


def _alike(results: Results) -> Verdict:
    there, differing = 0, []
    for share in setup.SHARES:
        for level in setup.LEVELS:
            totals = {
                model: {p: results.average(grid(model, share, column(p, level), TOTAL)) for p in setup.POLICIES}
                for model in setup.MODELS
            }
            means = {m: {p: v.mean for p, v in of.items() if v is not None} for m, of in totals.items()}
            if not all(means.values()):
                continue
            there += 1
            best = min(means[LINEAR], key=lambda p: means[LINEAR][p])
            if means[setup.PARABOLIC][best] > 1.01 * min(means[setup.PARABOLIC].values()):
                differing.append(f"M = {level} at {percent(share)}")
    ours = f"{there - len(differing)} of {there} places"
    return Verdict(bool(there) and not differing, ours, f"not {', '.join(differing)}" if differing else "")


def _wider(results: Results) -> Verdict:
    at = {share: dict(running_first(results, WAIT, (share,), ("12",))) for share in (0.1, 0.5)}
    ours = []
    for kind in ("Even-H", "Low-Imp"):
        small, large = (at[share].get(f"{kind}, M = 12 at {percent(share)}") for share in (0.1, 0.5))
        if small is None or large is None:
            return missing()
        ours.append((kind, large.mean, small.mean))
    said = "; ".join(f"{kind}: {shown(large)} min at 50 %, {shown(small)} at 10 %" for kind, large, small in ours)
    return Verdict(all(small > large for _, large, small in ours), said)


def _falls(results: Results, measure: str, policies: Sequence[str]) -> list[Named]:
    return results.named(
        (f"{p} from {before} to {after} at {percent(s)}", linear(s, p, before, measure), linear(s, p, after, measure))
        for p in policies for s in setup.SHARES for before, after in pairwise(setup.LEVELS)
    )  # fmt: skip


def _converge(results: Results) -> Verdict:
    same = [value for _, value in running_first(results, WAIT, setup.SHARES, (setup.NO_LIMIT,)) if value is not None]
    kinds = results.ratio(
        *([linear(s, p, setup.NO_LIMIT, WAIT) for s in setup.SHARES] for p in (setup.EVEN_FQ, setup.LOW_FQ))
    )
    falls = positive([named for named in _falls(results, WAIT, setup.POLICIES) if setup.NO_LIMIT in named[0]], " min")
    if not same or kinds is None:
        return missing()
    ours = f"FQ and FR differ by {max(abs(value.mean) for value in same):g} min; Even-H / Low-Imp: {kinds}"
    if any(value.mean for value in same) or abs(kinds.mean - 1) > 0.1:
        return Verdict(False, ours, "they are not the same")
    return Verdict(falls.holds, ours, falls.reason)


def _low_impact(results: Results) -> list[Named]:
    def everywhere(policy: str, measure: str) -> list[Of]:
        return [linear(share, policy, level, measure) for share in setup.SHARES for level in setup.LEVELS]

    return results.named(
        (f"{measure} under {low[-2:]}", everywhere(even, measure), everywhere(low, measure))
        for even, low in ((setup.EVEN_FQ, setup.LOW_FQ), (setup.EVEN_FR, setup.LOW_FR)) for measure in (WAIT, TOTAL)
    )  # fmt: skip


def _turns(results: Results) -> Verdict:
    found = []
    for policy in setup.FQ:
        for share in setup.SHARES:
            means = {level: results.average(linear(share, policy, level, TOTAL)) for level in setup.LEVELS}
            there = {level: value.mean for level, value in means.items() if value is not None}
            if there:
                found.append((f"{policy} at {percent(share)}", min(there, key=lambda level: there[level])))
    late = [name for name, level in found if level == setup.NO_LIMIT]
    ours = f"the least total is at M = {', '.join(sorted({level for _, level in found}, key=setup.LEVELS.index))}"
    if not found or late:
        reason = f"without a limit at {len(late)} of {len(found)} places; {reading_of_limits(results)}"
        return Verdict(False, ours if found else "no results", reason)
    return Verdict(True, ours)


def _rises(results: Results) -> Verdict:
    waits = {policy: {share: linear(share, policy, "12", WAIT) for share in setup.SHARES} for policy in setup.FR}
    verdict = positive([(policy, results.more(of[0.1], of[0.5])) for policy, of in waits.items()], " min")

    def course() -> str:
        means = {policy: [results.average(of[share]) for share in setup.SHARES] for policy, of in waits.items()}
        told = [f"{policy} {', '.join(shown(each.mean) for each in found if each)}" for policy, found in means.items()]
        return f"from 50 to 10 % the waits first fall, and then rise: {'; '.join(told)} min"

    return because(verdict, course)


def _falls_by_share(results: Results, policies: Sequence[str], levels: Sequence[str]) -> list[Named]:
    return results.named(
        (f"{p}, M = {m}, from {percent(s)} to {percent(then)}", linear(s, p, m, WAIT), linear(then, p, m, WAIT))
        for p in policies for m in levels for s, then in pairwise(setup.SHARES)
    )  # fmt: skip


def _best(results: Results, policy: str, levels: Sequence[str], shares: Sequence[float]) -> Verdict:
    """Hold if no other policy has a lower total."""
    less = results.named(
        (f"{other}, M = {m} at {percent(s)}", linear(s, other, m, TOTAL), linear(s, policy, m, TOTAL))
        for m in levels for s in shares for other in setup.POLICIES if other != policy
    )  # fmt: skip
    return all_of(less, lambda value: value.mean >= 0, " min")


def _twice(results: Results) -> Verdict:
    found = [
        (f"{kind}, {model}", results.ratio(over_all(model, running, EVENTS), over_all(model, queued, EVENTS)))
        for kind, (queued, running) in KINDS.items()
        for model in setup.MODELS
    ]
    verdict = all_of(found, lambda value: 1.5 <= value.mean <= 2.5, " times")
    return because(verdict, lambda: f"under none of these readings, {_events(results)}")


def _events(results: Results) -> str:
    told = []
    for kind in READ:
        queued, running = events_by_reading(results, kind)
        if queued is not None and running is not None:
            told.append(f"{kind} {running} under FR, {queued} under FQ")
    return f"Even-H at M = 12: {'; '.join(told)}" if told else "as there were none"


def _essentially_the_same(results: Results) -> Verdict:
    def total(model: str, share: float, policy: str) -> Of:
        return grid(model, share, column(policy, setup.NO_LIMIT), TOTAL)

    more = results.named(
        (f"{kind}, {model}, {percent(s)}", total(model, s, running), total(model, s, queued))
        for kind, (queued, running) in KINDS.items() for model in setup.MODELS for s in setup.SHARES
    )  # fmt: skip
    return all_of(more, lambda value: value.mean == 0, " min")


def _beyond(results: Results, applications: Sequence[str], measure: str) -> list[Named]:
    """Return how much more each baseline has than the best policy."""
    return results.named(
        (f"{name}, {a}, {percent(s)}, beta {b:g}", of_user(a, b, s, name, measure), of_user(a, b, s, BEST, measure))
        for a in applications for b in setup.BETAS for s in SHARES_3 for name in setup.BASELINES
    )  # fmt: skip


def _faster(results: Results) -> list[Named]:
    return results.named(
        (f"{name}, {percent(s)}, beta {b:g}", of_user(GAUSS, b, s, BEST, RATE), of_user(GAUSS, b, s, name, RATE))
        for b in setup.BETAS for s in SHARES_3 for name in setup.BASELINES
    )  # fmt: skip


def _steps(
    results: Results, name: str, shares: Sequence[float], betas: Sequence[float] = setup.BETAS[:-1]
) -> list[Named]:
    """Return how much more throughput there is at each share than at the one before."""
    return results.named(
        (
            f"from {percent(before)} to {percent(after)} at beta {beta:g}",
            of_user(GAUSS, beta, after, name, RATE), of_user(GAUSS, beta, before, name, RATE)
        )
        for beta in betas for before, after in pairwise(shares)
    )  # fmt: skip


def _grows(results: Results, measure: str, betas: tuple[float, float]) -> Verdict:
    """Hold if the share of IDEAL-ONLY's time that is left is less at the first beta than at the second one."""
    found: list[Named] = []
    for application, share in product(SHOWN, SHARES_3):
        places = [[of_user(application, b, share, name, measure) for name in (BEST, setup.IDEAL_ONLY)] for b in betas]
        first, then = (results.ratio(*of) for of in places)
        if first is not None and then is not None:
            less = Estimate(100 * (then.mean - first.mean), 100 * ((first.half or 0) + (then.half or 0)))
            found.append((f"{application}, {percent(share)}", less))
    return positive(found, " %")


def _sensitive(results: Results) -> Verdict:
    def loss(name: str, share: float) -> Estimate | None:
        return results.more(of_user(GAUSS, DENSEST, share, name, RATE), of_user(GAUSS, RAREST, share, name, RATE))

    found: list[Named] = []
    for share in SHARES_3:
        ours = loss(BEST, share)
        for name in (setup.IDEAL_ONLY, setup.MOLDABLE, setup.BACKFILL):
            theirs = loss(name, share)
            if ours is not None and theirs is not None:
                half = (ours.half or 0) + (theirs.half or 0)
                found.append((f"{name}, {percent(share)}", Estimate(ours.mean - theirs.mean, half)))
    return positive(found, "/h")


def _queued_first(share: float, levels: Sequence[str]) -> Callable[[Results], Verdict]:
    return lambda results: positive(running_first(results, WAIT, (share,), levels), " min")


def _runs_longer(results: Results) -> Verdict:
    on_ideal = ideal(setup.IDEAL_ONLY, EXEC)
    more = results.named((name, grid(m, s, FIGURE_9, EXEC), on_ideal) for name, m, s in names(setup.MODELS))
    return positive(more, " min")


def _magnitude(results: Results) -> Verdict:
    wait = ideal(setup.IDEAL_ONLY, WAIT)
    ratios = [(percent(share), results.ratio(grid(LINEAR, share, BEST, WAIT), wait)) for share in setup.SHARES]
    return all_of(ratios, lambda value: value.mean <= TENTH, " of it")


CHECKS: Mapping[str, Callable[[Results], Verdict]] = {
    "ideal-only-waits": _ideal_only_waits,
    "even-waits-less": lambda r: positive(less_than_baselines(r, FIGURE_9, WAIT, setup.MODELS), " min"),
    "even-runs-longer": _runs_longer,
    "not-for-all": _not_for_all,
    "alike": _alike,
    "queued-first-50": _queued_first(0.5, setup.LEVELS[:2]),
    "queued-first-40": _queued_first(0.4, setup.LEVELS[:3]),
    "queued-first-30": _queued_first(0.3, setup.LEVELS[:4]),
    "wider": _wider,
    "waits-fall": lambda r: positive(_falls(r, WAIT, setup.POLICIES), " min"),
    "converge": _converge,
    "queued-first": lambda r: positive(running_first(r, WAIT, setup.SHARES, setup.LEVELS[:-1]), " min"),
    "low-impact": lambda r: positive(_low_impact(r), " min"),
    "running-first-is-better": lambda r: because(
        positive(running_first(r, TOTAL, setup.SHARES, (MOST_FAVOURED,), sign=-1), " min"), lambda: reading_of_totals(r)
    ),
    "queued-first-at-low": lambda r: positive(running_first(r, TOTAL, setup.SHARES, ("3",)), " min"),
    "running-totals-fall": lambda r: positive(_falls(r, TOTAL, setup.FR), " min"),
    "turns": _turns,
    "queued-waits-by-share": lambda r: positive(_falls_by_share(r, setup.FQ, setup.LEVELS), " min"),
    "running-waits-by-share": lambda r: positive(_falls_by_share(r, setup.FR, ("3",)), " min"),
    "rises": _rises,
    "low-fr-is-best": lambda r: _best(r, setup.LOW_FR, setup.LEVELS[2:], setup.SHARES),
    "low-fq-is-best": lambda r: _best(r, setup.LOW_FQ, ("3",), setup.SHARES),
    "low-fq-at-6": lambda r: _best(r, setup.LOW_FQ, ("6",), setup.SHARES[:-1]),
    "outperforms": lambda r: positive(
        [of for each in (WAIT, TOTAL) for of in less_than_baselines(r, BEST, each, setup.MODELS)], " min"
    ),
    "magnitude": _magnitude,
    "twice": _twice,
    "the-same": _essentially_the_same,
    "user-waits": lambda r: positive(_beyond(r, SHOWN, WAIT), " min"),
    "user-advantage": lambda r: _grows(r, WAIT, (RAREST, DENSEST)),
    "user-totals": lambda r: positive(_beyond(r, (*SHOWN, setup.STENCIL, setup.SEQUENCES), TOTAL), " min"),
    "user-contention": lambda r: because(_grows(r, TOTAL, (DENSEST, RAREST)), lambda: CONTENTION),
    "pattern": lambda r: positive(_beyond(r, (setup.STENCIL, setup.SEQUENCES), WAIT), " min"),
    "throughput": lambda r: positive(_faster(r), "/h"),
    "smaller-least": lambda r: positive(_steps(r, BEST, SHARES_3), "/h"),
    "moldable-suffers": lambda r: positive(_steps(r, setup.MOLDABLE, (0.1, 0.3), setup.BETAS), "/h"),
    "sensitive": _sensitive,
}
