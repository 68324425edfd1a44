"""The claims of 4.4 on figures 9 to 11: the baselines, and the degree of multiprogramming M."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from cosched.sim.results.estimate import shown
from cosched.sim.studies.claims import Claim, Named, Verdict, because, missing, positive
from cosched.sim.studies.weissman2004.measuring import EXEC, TOTAL, WAIT
from cosched.sim.studies.weissman2004.paper.comparisons import (
    MOST_FAVOURED,
    ideal,
    less_than_baselines,
    names,
    reading_of_limits,
    reading_of_moldable,
    reading_of_totals,
    running_first,
)
from cosched.sim.studies.weissman2004.results import Results, at_load, grid
from cosched.sim.studies.weissman2004.setup import (
    BACKFILL,
    EVEN_FQ,
    FQ,
    FR,
    IDEAL_ONLY,
    LEVELS,
    LINEAR,
    LOAD,
    LOW_FQ,
    LOW_FR,
    MODELS,
    MOLDABLE,
    NO_LIMIT,
    PARABOLIC,
    POLICIES,
    SDSC,
    SHARES,
    column,
    percent,
)

FIGURE_9 = column(EVEN_FQ, NO_LIMIT)
FAVOURED = {0.5: ("3", "6"), 0.4: ("3", "6", "9"), 0.3: ("3", "6", "9", "12")}  # where FQ waits less (figure 10)


def claims_by_level() -> Iterator[Claim[Results]]:
    """Yield the claims in the order of the paper."""
    yield from _figure_9()
    yield from _figure_10()
    yield from _figure_11()


def _figure_9() -> Iterator[Claim[Results]]:
    yield Claim(
        "Fig. 9",
        "IDEAL-ONLY waits far the longest",
        "performs quite badly with respect to wait time",
        "its wait is above that of the other baselines, on the same traces",
        _ideal_only_waits,
    )
    yield Claim(
        "Fig. 9",
        "Even-H-FQ waits less than all baselines",
        "achieved significantly lower waiting time than all of the baselines",
        "no limit; both models, every min_%_of_ideal, on the same traces",
        lambda results: positive(less_than_baselines(results, FIGURE_9, WAIT, MODELS), " min"),
    )
    yield Claim(
        "Fig. 9",
        "Even-H-FQ runs jobs longer",
        "execution time goes up because applications may be run with fewer resources under iScheduling",
        "no limit; its run times are above those on the ideal, both models, every min_%_of_ideal",
        lambda results: positive(
            [
                (name, results.more(grid(model, share, FIGURE_9, EXEC), ideal(IDEAL_ONLY, EXEC)))
                for name, model, share in names(MODELS)
            ],
            " min",
        ),
    )
    yield Claim(
        "Fig. 9",
        "Even-H-FQ has the least total time for large min_%_of_ideal, but not for all values",
        "total completion time is better for iScheduling for certain values of",
        "no limit, linear: below all baselines at 50 %, and above one of them at 10 %",
        _not_for_all,
    )
    yield Claim(
        "4.4",
        "Linear and parabolic jobs compare alike",
        "did not differ significantly between the linear and parabolic application execution models",
        "the same policy of the four has the least mean total at each M and min_%_of_ideal, within 1 %",
        _alike,
    )


def _ideal_only_waits(results: Results) -> Verdict:
    one = at_load(SDSC, LOAD, IDEAL_ONLY, WAIT)
    return positive(
        [(name, results.more(one, at_load(SDSC, LOAD, name, WAIT))) for name in (BACKFILL, MOLDABLE)], " min"
    )


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
    for share in SHARES:
        for level in LEVELS:
            totals = {
                model: {p: results.average(grid(model, share, column(p, level), TOTAL)) for p in POLICIES}
                for model in MODELS
            }
            means = {m: {p: v.mean for p, v in of.items() if v is not None} for m, of in totals.items()}
            if not all(means.values()):
                continue
            there += 1
            best = min(means[LINEAR], key=lambda p: means[LINEAR][p])
            if means[PARABOLIC][best] > 1.01 * min(means[PARABOLIC].values()):
                differing.append(f"M = {level} at {percent(share)}")
    ours = f"{there - len(differing)} of {there} places"
    return Verdict(bool(there) and not differing, ours, f"not {', '.join(differing)}" if differing else "")


def _figure_10() -> Iterator[Claim[Results]]:
    for share, levels in FAVOURED.items():
        yield Claim(
            "Fig. 10",
            f"At {percent(share)} FQ waits less than FR for M = {', '.join(levels)}",
            QUOTES[share],
            "Even-H and Low-Imp, on the same traces",
            lambda results, share=share, levels=levels: positive(  # type: ignore[misc]
                running_first(results, WAIT, (share,), levels), " min"
            ),
        )
    yield Claim(
        "Fig. 10",
        "FQ's waits are shorter over more M as min_%_of_ideal decreases",
        "outperforms $*-FR$ for a wider range of",
        "the advantage over FR at M = 12, Even-H and Low-Imp, is greater at 10 % than at 50 %",
        _wider,
    )
    yield Claim(
        "Fig. 10",
        "Waits decrease as M increases",
        "for all policies, the waiting times decrease since the system is more likely to admit jobs",
        "each policy and min_%_of_ideal, from M to M, on the same traces",
        lambda results: positive(_falls(results, WAIT, POLICIES), " min"),
    )
    yield Claim(
        "Fig. 10",
        "Without a limit all waits are the same small value",
        "the waiting times all converge to the same small value",
        "linear: FQ and FR wait exactly as long, Even-H and Low-Imp within 10 %, and less than at any other M",
        _converge,
    )
    yield Claim(
        "Fig. 10",
        "FQ reduces waits",
        "it is clear that the *FQ* option reduces wait time",
        "at every M with a limit and every min_%_of_ideal, Even-H and Low-Imp",
        lambda results: positive(running_first(results, WAIT, SHARES, LEVELS[:-1]), " min"),
    )
    yield Claim(
        "Fig. 10",
        "Low-Imp is slightly better than Even-H",
        "is slightly better than *Even-H-\\**",
        "in the mean over M and min_%_of_ideal, wait and total are lower, under FQ and FR",
        lambda results: positive(_low_impact(results), " min"),
    )


QUOTES = {
    0.5: "outperforms $*-FR$ for $M=3$ and $M=6$",
    0.4: "$FQ$ outperforms $FR$ for $M=3, 6, \\text{ and } 9$",
    0.3: "outperforms $FR$ for $M=3, 6, 9, \\text{ and } 12$",
}


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
    return [
        (
            f"{policy} from {before} to {after} at {percent(share)}",
            results.more(
                grid(LINEAR, share, column(policy, before), measure),
                grid(LINEAR, share, column(policy, after), measure),
            ),
        )
        for policy in policies
        for share in SHARES
        for before, after in pairwise(LEVELS)
    ]


def _converge(results: Results) -> Verdict:
    same = [value for _, value in running_first(results, WAIT, SHARES, (NO_LIMIT,)) if value is not None]
    kinds = results.ratio(*([grid(LINEAR, s, column(p, NO_LIMIT), WAIT) for s in SHARES] for p in (EVEN_FQ, LOW_FQ)))
    falls = positive([named for named in _falls(results, WAIT, POLICIES) if NO_LIMIT in named[0]], " min")
    if not same or kinds is None:
        return missing()
    ours = f"FQ and FR differ by {max(abs(value.mean) for value in same):g} min; Even-H / Low-Imp: {kinds}"
    if any(value.mean for value in same) or abs(kinds.mean - 1) > 0.1:
        return Verdict(False, ours, "they are not the same")
    return Verdict(falls.holds, ours, falls.reason)


def _low_impact(results: Results) -> list[Named]:
    return [
        (
            f"{measure} under {low[-2:]}",
            results.more(
                [grid(LINEAR, s, column(even, level), measure) for s in SHARES for level in LEVELS],
                [grid(LINEAR, s, column(low, level), measure) for s in SHARES for level in LEVELS],
            ),
        )
        for even, low in zip(("Even-H-FQ", "Even-H-FR"), (LOW_FQ, LOW_FR), strict=True)
        for measure in (WAIT, TOTAL)
    ]


def _figure_11() -> Iterator[Claim[Results]]:
    yield Claim(
        "Fig. 11",
        "At high M, FR has the lower total time",
        "policies achieve better overall performance when compared with *\\*-FQ* as $M$ increases",
        "at M = 12, every min_%_of_ideal, Even-H and Low-Imp, on the same traces",
        _running_first_is_better,
    )
    yield Claim(
        "Fig. 11",
        "At low M, FQ has the lower total time",
        "*\\*-FQ* is superior to *\\*-FR* policies",
        "at M = 3, every min_%_of_ideal, Even-H and Low-Imp, on the same traces",
        lambda results: positive(running_first(results, TOTAL, SHARES, ("3",)), " min"),
    )
    yield Claim(
        "Fig. 11",
        "FR's total time falls as M increases",
        "The results suggest we should be running at high $M$ since this yields reduced total time",
        "both FR policies, from M to M, on the same traces",
        lambda results: positive(_falls(results, TOTAL, FR), " min"),
    )
    yield Claim(
        "Fig. 11",
        "FQ's total time falls with M to a point, and then increases",
        "generally decreases as $M$ increases to a point, and then increases",
        "both FQ policies have their least mean total at an M below no limit, at every min_%_of_ideal",
        _turns,
    )


def _running_first_is_better(results: Results) -> Verdict:
    found = running_first(results, TOTAL, SHARES, (MOST_FAVOURED,), sign=-1)
    return because(positive(found, " min"), lambda: reading_of_totals(results))


def _turns(results: Results) -> Verdict:
    found = []
    for policy in FQ:
        for share in SHARES:
            means = {level: results.average(grid(LINEAR, share, column(policy, level), TOTAL)) for level in LEVELS}
            there = {level: value.mean for level, value in means.items() if value is not None}
            if there:
                found.append((f"{policy} at {percent(share)}", min(there, key=lambda level: there[level])))
    late = [name for name, level in found if level == NO_LIMIT]
    ours = f"the least total is at M = {', '.join(sorted({level for _, level in found}, key=LEVELS.index))}"
    if not found or late:
        reason = f"without a limit at {len(late)} of {len(found)} places; {reading_of_limits(results)}"
        return Verdict(False, ours if found else "no results", reason)
    return Verdict(True, ours)
