"""The claims of 4.4 on figures 12 to 14 and table 2: min_%_of_ideal, and the best policy beside the baselines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from cosched.sim.results.estimate import shown
from cosched.sim.studies.claims import Claim, Named, Verdict, all_of, because, positive
from cosched.sim.studies.weissman2004.measuring import EVENTS, TOTAL, WAIT
from cosched.sim.studies.weissman2004.paper.comparisons import KINDS, events_by_reading, ideal, less_than_baselines
from cosched.sim.studies.weissman2004.paper.numbers import over_all
from cosched.sim.studies.weissman2004.readings import READ
from cosched.sim.studies.weissman2004.results import Results, grid
from cosched.sim.studies.weissman2004.setup import (
    BEST,
    EVEN_FR,
    FQ,
    FR,
    IDEAL_ONLY,
    LEVELS,
    LINEAR,
    LOW_FQ,
    LOW_FR,
    MODELS,
    NO_LIMIT,
    POLICIES,
    SHARES,
    column,
    percent,
)

TENTH = 0.1


def claims_by_share() -> Iterator[Claim[Results]]:
    """Yield the claims in the order of the paper."""
    yield from _figure_12()
    yield from _figure_13()
    yield from _figure_14()


def _figure_12() -> Iterator[Claim[Results]]:
    yield Claim(
        "Fig. 12",
        "FQ's waits fall as min_%_of_ideal decreases",
        "decreases, the waiting times for the *\\*-FQ* policies decrease",
        "both FQ policies at each M, from share to share, on the same traces",
        lambda results: positive(_falls(results, FQ, LEVELS), " min"),
    )
    yield Claim(
        "Fig. 12",
        "So do FR's at low M",
        "This trend is also observed for *\\*-FR* under low degrees of multiprogramming",
        "both FR policies at M = 3, from share to share",
        lambda results: positive(_falls(results, FR, ("3",)), " min"),
    )
    yield Claim(
        "Fig. 12",
        "At high M, FR's waits rise as min_%_of_ideal decreases",
        "leads to higher waiting times",
        "both FR policies at M = 12 wait longer at 10 % than at 50 %",
        _rises,
    )


def _rises(results: Results) -> Verdict:
    waits = {policy: {share: grid(LINEAR, share, column(policy, "12"), WAIT) for share in SHARES} for policy in FR}
    verdict = positive([(policy, results.more(of[0.1], of[0.5])) for policy, of in waits.items()], " min")

    def course() -> str:
        means = {policy: [results.average(of[share]) for share in SHARES] for policy, of in waits.items()}
        told = [f"{policy} {', '.join(shown(each.mean) for each in found if each)}" for policy, found in means.items()]
        return f"from 50 to 10 % the waits first fall, and then rise: {'; '.join(told)} min"

    return because(verdict, course)


def _falls(results: Results, policies: Sequence[str], levels: Sequence[str]) -> list[Named]:
    return [
        (
            f"{policy}, M = {level}, from {percent(before)} to {percent(after)}",
            results.more(
                grid(LINEAR, before, column(policy, level), WAIT), grid(LINEAR, after, column(policy, level), WAIT)
            ),
        )
        for policy in policies
        for level in levels
        for before, after in pairwise(SHARES)
    ]


def _figure_13() -> Iterator[Claim[Results]]:
    yield Claim(
        "Fig. 13",
        "Low-Imp-FR is the best for M >= 9",
        "for $M \\geq 9$ is best irrespective of",
        "its mean total is the least of the four at M = 9, 12 and no limit, every min_%_of_ideal",
        lambda results: _best(results, LOW_FR, LEVELS[2:], SHARES),
    )
    yield Claim(
        "Fig. 13",
        "Low-Imp-FQ is the best for M = 3",
        "*Low-Imp-FQ* is clearly better",
        "its mean total is the least of the four, every min_%_of_ideal",
        lambda results: _best(results, LOW_FQ, ("3",), SHARES),
    )
    yield Claim(
        "Fig. 13",
        "Low-Imp-FQ is the best for M = 6 down to 20 %",
        "is better until",
        "its mean total is the least of the four at 50 to 20 %",
        lambda results: _best(results, LOW_FQ, ("6",), SHARES[:-1]),
    )


def _best(results: Results, policy: str, levels: Sequence[str], shares: Sequence[float]) -> Verdict:
    """Hold if no other policy has a lower total."""
    return all_of(
        [
            (
                f"{other}, M = {level} at {percent(share)}",
                results.more(
                    grid(LINEAR, share, column(other, level), TOTAL), grid(LINEAR, share, column(policy, level), TOTAL)
                ),
            )
            for level in levels
            for share in shares
            for other in POLICIES
            if other != policy
        ],
        lambda value: value.mean >= 0,
        " min",
    )


def _figure_14() -> Iterator[Claim[Results]]:
    yield Claim(
        "Fig. 14",
        "Low-Imp-FR without a limit outperforms all baselines",
        "an iScheduling policy can be defined that will outperform ALL baselines for all values of",
        "wait and total, both models, every min_%_of_ideal, on the same traces",
        lambda results: positive(
            [
                *less_than_baselines(results, BEST, WAIT, MODELS),
                *less_than_baselines(results, BEST, TOTAL, MODELS),
            ],
            " min",
        ),
    )
    yield Claim(
        "1",
        "Over an order of magnitude better than the default policy",
        "over an order of magnitude improvement when compared to the default scheduling policy",
        "Low-Imp-FR's wait is at most a tenth of that of IDEAL-ONLY, every min_%_of_ideal",
        lambda results: all_of(
            [
                (percent(share), results.ratio(grid(LINEAR, share, BEST, WAIT), ideal(IDEAL_ONLY, WAIT)))
                for share in SHARES
            ],
            lambda value: value.mean <= TENTH,
            " of it",
        ),
    )
    yield Claim(
        "Table 2",
        "FR harvests about twice as often as FQ",
        f"{EVEN_FR}</i> 99.5 3.2",
        "Even-H and Low-Imp, both models: 1.5 to 2.5 times as many events (the paper's: 2.0 to 2.3)",
        _twice,
    )
    yield Claim(
        "2.2",
        "Without a limit FR and FQ do the same",
        "So a value of *no\\_limit* is essentially the same as *\\*-FQ*",
        "their mean totals are equal, Even-H and Low-Imp, every min_%_of_ideal, both models",
        _essentially_the_same,
    )


def _twice(results: Results) -> Verdict:
    found = [
        (f"{kind}, {model}", results.ratio(over_all(model, running, EVENTS), over_all(model, queued, EVENTS)))
        for kind, (queued, running) in KINDS.items()
        for model in MODELS
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
    return all_of(
        [
            (
                f"{kind}, {model}, {percent(share)}",
                results.more(
                    grid(model, share, column(running, NO_LIMIT), TOTAL),
                    grid(model, share, column(queued, NO_LIMIT), TOTAL),
                ),
            )
            for kind, (queued, running) in KINDS.items()
            for model in MODELS
            for share in SHARES
        ],
        lambda value: value.mean == 0,
        " min",
    )
