"""The claims of 4.4 (claims.csv), checked against our results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, pairwise, product

from cosched_papers.studies.weissman2004 import comparisons, setup
from cosched_papers.studies.weissman2004.comparisons import KINDS, SHARES_3, SHOWN, ideal, over_all, running_first
from cosched_papers.studies.weissman2004.measuring import EVENTS, EXEC, RATE, TOTAL, WAIT
from cosched_papers.studies.weissman2004.readings import HIGH, READ
from cosched_papers.studies.weissman2004.results import Results, grid, linear, of_user
from cosched_papers.studies.weissman2004.setup import BEST, GAUSS, LINEAR, column, percent
from cosched_sim.results.estimate import Estimate, estimate
from cosched_sim.studies import verdicts
from cosched_sim.studies.measured import Of, average, differences, less, more, pairs, ratio
from cosched_sim.studies.paper import Claim, read_claims
from cosched_sim.studies.verdicts import FAILS, HOLDS, OPEN, Named, Range, Verdict, all_of, because, parts, positive

FIGURE_9 = column(setup.EVEN_FQ, setup.NO_LIMIT)
RAREST, DENSEST = setup.BETAS[-1], setup.BETAS[0]
CONTENTION = (
    "the paper says the opposite of waits (figure 15). Under IDEAL-ONLY the queue grows with the trace at any beta, "
    "and at a large one Low-Imp-FR keeps up, so the advantage is greatest there"
)


def claims() -> list[Claim[Results]]:
    """Return all claims, in the order of the paper."""
    return read_claims(__file__, CHECKS)


def _ideal_only_waits(results: Results) -> Verdict:
    longest = ideal(setup.IDEAL_ONLY, WAIT)
    lines = [(name, longest, ideal(name, WAIT)) for name in (setup.BACKFILL, setup.MOLDABLE)]
    return positive(differences(results, lines), " min")


def _not_for_all(results: Results) -> Verdict:
    large, small = (
        comparisons.less_than_baselines(results, FIGURE_9, TOTAL, (LINEAR,), (share,)) for share in (0.5, 0.1)
    )
    verdict = parts(("", positive(large, " min")), ("", _above_one(small)))
    return because(
        verdict, lambda: f"below MOLDABLE by reading: {comparisons.less_by_reading(results, setup.MOLDABLE)}"
    )


def _above_one(less: Sequence[Named]) -> Verdict:
    """Decide whether a policy is not below all baselines."""
    there = [value for _, value in less if value is not None]
    if not there:
        return verdicts.missing()
    least = min(there, key=lambda value: value.mean)
    fails = f"at 10 % it is still below every baseline, by {least} min or more"
    still = f"whether it is above a baseline at 10 % is open: it is below by {least} min or more"
    word = verdicts.opposite(verdicts.all_hold(map(verdicts.POSITIVE.decides, there)))
    return verdicts.decided(word, "", fails, still)


def _alike(results: Results) -> Verdict:
    """Decide whether some policy is the best for linear jobs, and within 1 % of the best for parabolic ones."""
    words = {}
    for share, level in product(setup.SHARES, setup.LEVELS):
        linear_jobs, parabolic_jobs = (
            {name: grid(model, share, column(name, level), TOTAL) for name in setup.POLICIES} for model in setup.MODELS
        )
        if pairs(results, *list(linear_jobs.values())[:2]) and pairs(results, *list(parabolic_jobs.values())[:2]):
            words[f"M = {level} at {percent(share)}"] = verdicts.one_holds(
                verdicts.all_hold(
                    chain(_is_least(results, linear_jobs, of), _is_least(results, parabolic_jobs, of, 1.01))
                )
                for of in setup.POLICIES
            )
    return verdicts.tally(words, "places")


def _is_least(results: Results, totals: Mapping[str, Of], name: str, up_to: float = 1.0) -> Iterator[str]:
    """Yield beside each other policy whether a total is at most so many times as great."""
    for other, total in totals.items():
        if other != name:
            more_than = [up_to * theirs - ours for theirs, ours in pairs(results, total, totals[name])]
            yield verdicts.NOT_NEGATIVE.decides(estimate(more_than)) if more_than else OPEN


def _wider(results: Results) -> Verdict:
    """Decide whether FQ waits less at more M at 10 than at 50 %: by how many do so at least, and at most."""
    found, limits = [], setup.LEVELS[:-1]
    for kind in KINDS:
        counts = {}
        for share in (0.5, 0.1):
            named = [value for name, value in running_first(results, WAIT, (share,), limits) if name.startswith(kind)]
            words = [verdicts.POSITIVE.decides(value) for value in named if value is not None]
            if len(words) < len(limits):
                return verdicts.missing()
            counts[share] = words.count(HOLDS), len(words) - words.count(FAILS)
        (least, most), (at_least, at_most) = counts[0.5], counts[0.1]
        word = HOLDS if at_least > most else FAILS if at_most <= least else OPEN
        told = [f"{low}{f' to {high}' * (low < high)} at {percent(share)}" for share, (low, high) in counts.items()]
        ours = f"of {len(limits)} M {' and '.join(told)}"
        found.append((kind, verdicts.decided(word, ours, "at as many M, or fewer", "their intervals leave it open")))
    return parts(*found)


def _falls(results: Results, measure: str, policies: Sequence[str]) -> list[Named]:
    return differences(results, (
        (f"{p} from {before} to {after} at {percent(s)}", linear(s, p, before, measure), linear(s, p, after, measure))
        for p in policies for s in setup.SHARES for before, after in pairwise(setup.LEVELS)
    ))  # fmt: skip


def _converge(results: Results) -> Verdict:
    same = running_first(results, WAIT, setup.SHARES, (setup.NO_LIMIT,))
    waits = ([linear(s, p, setup.NO_LIMIT, WAIT) for s in setup.SHARES] for p in (setup.EVEN_FQ, setup.LOW_FQ))
    kinds = ratio(results, *waits)
    falls = differences(results, (
        (f"{p}, M = {m} at {percent(s)}", linear(s, p, m, WAIT), linear(s, p, setup.NO_LIMIT, WAIT))
        for p in setup.POLICIES for s in setup.SHARES for m in setup.LEVELS[:-1]
    ))  # fmt: skip
    return parts(
        ("FR less FQ", all_of(same, Range(0, 0), " min")),
        ("Even-H / Low-Imp", all_of([("their ratio", kinds)], Range(0.9, 1.1))),
        ("less than at other M by", positive(falls, " min")),
    )


def _low_impact(results: Results) -> Verdict:
    def everywhere(policy: str, measure: str) -> list[Of]:
        return [linear(share, policy, level, measure) for share in setup.SHARES for level in setup.LEVELS]

    lines = [
        (f"{measure} under {low[-2:]}", everywhere(even, measure), everywhere(low, measure))
        for even, low in ((setup.EVEN_FQ, setup.LOW_FQ), (setup.EVEN_FR, setup.LOW_FR)) for measure in (WAIT, TOTAL)
    ]  # fmt: skip
    slightly = [(name, less(results, low, even)) for name, even, low in lines]
    return parts(("", positive(differences(results, lines), " min")), ("", all_of(slightly, Range(high=10), " %")))


def _turns(results: Results) -> Verdict:
    """Decide whether at some M the total is below that at the least M, and below that without a limit."""
    words, least = {}, set()
    for policy, share in product(setup.FQ, setup.SHARES):
        totals = {level: linear(share, policy, level, TOTAL) for level in setup.LEVELS}
        means = {level: mean.mean for level, of in totals.items() if (mean := average(results, of)) is not None}
        ends = [totals[setup.LEVELS[0]], totals[setup.NO_LIMIT]]
        if len(means) == len(totals):
            least.add(min(means, key=lambda level: means[level]))
            words[f"{policy} at {percent(share)}"] = verdicts.one_holds(
                positive(differences(results, [("", end, totals[level]) for end in ends])).word
                for level in setup.LEVELS[1:-1]
            )
    verdict = verdicts.tally(words, "places")
    told = f"; the least total is at M = {', '.join(sorted(least, key=setup.LEVELS.index))}" * bool(words)
    verdict = replace(verdict, ours=f"{verdict.ours}{told}")
    falls = f"Even-H-FQ falls from M = {HIGH} to no limit at 10 % by reading: "
    return because(verdict, lambda: falls + comparisons.less_by_reading(results, column(setup.EVEN_FQ, HIGH)))


def _rises(results: Results) -> Verdict:
    waits = {policy: {share: linear(share, policy, "12", WAIT) for share in setup.SHARES} for policy in setup.FR}
    verdict = positive([(policy, more(results, of[0.1], of[0.5])) for policy, of in waits.items()], " min")

    def course() -> str:
        means = {policy: [average(results, of[share]) for share in setup.SHARES] for policy, of in waits.items()}
        told = [f"{policy} {', '.join(str(each) for each in found if each)}" for policy, found in means.items()]
        return f"from 50 to 10 % the waits first fall, and then rise: {'; '.join(told)} min"

    return because(verdict, course)


def _falls_by_share(results: Results, policies: Sequence[str], levels: Sequence[str]) -> list[Named]:
    return differences(results, (
        (f"{p}, M = {m}, from {percent(s)} to {percent(then)}", linear(s, p, m, WAIT), linear(then, p, m, WAIT))
        for p in policies for m in levels for s, then in pairwise(setup.SHARES)
    ))  # fmt: skip


def _best(results: Results, policy: str, levels: Sequence[str], shares: Sequence[float]) -> Verdict:
    """Decide whether no other policy has a lower total."""
    others = differences(results, (
        (f"{other}, M = {m} at {percent(s)}", linear(s, other, m, TOTAL), linear(s, policy, m, TOTAL))
        for m in levels for s in shares for other in setup.POLICIES if other != policy
    ))  # fmt: skip
    return all_of(others, verdicts.NOT_NEGATIVE, " min")


def _twice(results: Results) -> Verdict:
    found = [
        (f"{kind}, {model}", ratio(results, over_all(model, running, EVENTS), over_all(model, queued, EVENTS)))
        for kind, (queued, running) in KINDS.items()
        for model in setup.MODELS
    ]
    verdict = all_of(found, Range(1.5, 2.5), " times")
    return because(verdict, lambda: f"under none of these readings, {_events(results)}")


def _events(results: Results) -> str:
    told = []
    for kind in READ:
        queued, running = comparisons.events_by_reading(results, kind)
        if queued is not None and running is not None:
            told.append(f"{kind} {running} under FR, {queued} under FQ")
    return f"Even-H at M = 12: {'; '.join(told)}" if told else "as there were none"


def _essentially_the_same(results: Results) -> Verdict:
    def total(model: str, share: float, policy: str) -> Of:
        return grid(model, share, column(policy, setup.NO_LIMIT), TOTAL)

    longer = differences(results, (
        (f"{kind}, {place}", total(model, share, running), total(model, share, queued))
        for kind, (queued, running) in KINDS.items() for place, model, share in comparisons.names(setup.MODELS)
    ))  # fmt: skip
    return all_of(longer, Range(0, 0), " min")


def _beyond(results: Results, applications: Sequence[str], measure: str) -> list[Named]:
    """Return how much more each baseline has than the best policy."""
    return differences(results, (
        (f"{name}, {a}, {percent(s)}, beta {b:g}", of_user(a, b, s, name, measure), of_user(a, b, s, BEST, measure))
        for a in applications for b in setup.BETAS for s in SHARES_3 for name in setup.BASELINES
    ))  # fmt: skip


def _faster(results: Results) -> list[Named]:
    return differences(results, (
        (f"{name}, {percent(s)}, beta {b:g}", of_user(GAUSS, b, s, BEST, RATE), of_user(GAUSS, b, s, name, RATE))
        for b in setup.BETAS for s in SHARES_3 for name in setup.BASELINES
    ))  # fmt: skip


def _steps(
    results: Results, name: str, shares: Sequence[float], betas: Sequence[float] = setup.BETAS[:-1]
) -> list[Named]:
    """Return how much more throughput there is at each share than at the one before."""
    return differences(results, (
        (
            f"from {percent(before)} to {percent(after)} at beta {beta:g}",
            of_user(GAUSS, beta, after, name, RATE), of_user(GAUSS, beta, before, name, RATE)
        )
        for beta in betas for before, after in pairwise(shares)
    ))  # fmt: skip


def _grows(results: Results, measure: str, betas: tuple[float, float]) -> Verdict:
    """Decide whether the share of IDEAL-ONLY's time that is left is less at the first beta than at the second one."""
    found: list[Named] = []
    for application, share in product(SHOWN, SHARES_3):
        places = [[of_user(application, b, share, name, measure) for name in (BEST, setup.IDEAL_ONLY)] for b in betas]
        first, then = (ratio(results, *of) for of in places)
        less_left = None if first is None or then is None else then.minus(first).times(100)
        found.append((f"{application}, {percent(share)}", less_left))
    return positive(found, " %")


def _sensitive(results: Results) -> Verdict:
    def loss(name: str, share: float) -> Estimate | None:
        return more(results, of_user(GAUSS, DENSEST, share, name, RATE), of_user(GAUSS, RAREST, share, name, RATE))

    found: list[Named] = []
    for share, name in product(SHARES_3, setup.BASELINES):
        ours, theirs = loss(BEST, share), loss(name, share)
        beyond = None if ours is None or theirs is None else ours.minus(theirs)
        found.append((f"{name}, {percent(share)}", beyond))
    return positive(found, "/h")


def _runs_longer(results: Results) -> Verdict:
    on_ideal = ideal(setup.IDEAL_ONLY, EXEC)
    longer = [(name, grid(m, s, FIGURE_9, EXEC), on_ideal) for name, m, s in comparisons.names(setup.MODELS)]
    return positive(differences(results, longer), " min")


def _magnitude(results: Results) -> Verdict:
    wait = ideal(setup.IDEAL_ONLY, WAIT)
    ratios = [(percent(share), ratio(results, grid(LINEAR, share, BEST, WAIT), wait)) for share in setup.SHARES]
    return all_of(ratios, Range(high=0.1), " of it")


CHECKS: Mapping[str, Callable[[Results], Verdict]] = {
    "ideal-only-waits": _ideal_only_waits,
    "even-waits-less": lambda r: positive(comparisons.less_than_baselines(r, FIGURE_9, WAIT, setup.MODELS), " min"),
    "even-runs-longer": _runs_longer,
    "not-for-all": _not_for_all,
    "alike": _alike,
    "queued-first-50": lambda r: positive(running_first(r, WAIT, (0.5,), setup.LEVELS[:2]), " min"),
    "queued-first-40": lambda r: positive(running_first(r, WAIT, (0.4,), setup.LEVELS[:3]), " min"),
    "queued-first-30": lambda r: positive(running_first(r, WAIT, (0.3,), setup.LEVELS[:4]), " min"),
    "wider": _wider,
    "waits-fall": lambda r: positive(_falls(r, WAIT, setup.POLICIES), " min"),
    "converge": _converge,
    "queued-first": lambda r: positive(running_first(r, WAIT, setup.SHARES, setup.LEVELS[:-1]), " min"),
    "low-impact": _low_impact,
    "running-first-is-better": lambda r: because(
        positive(running_first(r, TOTAL, setup.SHARES, (HIGH,), sign=-1), " min"),
        lambda: comparisons.reading_of_totals(r),
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
        [of for each in (WAIT, TOTAL) for of in comparisons.less_than_baselines(r, BEST, each, setup.MODELS)], " min"
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
