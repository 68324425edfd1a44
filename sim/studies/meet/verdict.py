"""The study's verdict in plain English, from its numbers: where meet wins, where it ties, where it loses."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from cosched.sim.results.estimate import Estimate, shown, signed
from cosched.sim.studies.measured import BETTER, LEAST, OPEN, WORSE
from cosched.sim.studies.meet.experiments import BY_LOAD
from cosched.sim.studies.meet.measuring import (
    CALLS,
    GAIN,
    IDLE,
    LONGEST,
    LOSERS,
    LOSS,
    NEVER,
    PAIR_WAIT,
    PROPOSALS,
    WAIT,
    WINNERS,
)
from cosched.sim.studies.meet.results import Comparison, Results, of_the_paper
from cosched.sim.studies.meet.schemes import BUDGET_ALONE, MEET, SLOTS_ALONE, everybody_meets
from cosched.sim.studies.tang2011.setup import BASE, LOADS, MACHINES, SCHEMES


def verdict(results: Results) -> list[str]:
    """Return the paragraphs."""
    found = results.comparisons
    against = [each for each in found if of_the_paper(each.other)]
    return [
        *_pairs(results),
        *_elsewhere(results),
        *_counts(against),
        *_wins(against),
        *_ties(against),
        *_losses(against),
        *_against_base([each for each in found if each.other == BASE]),
        *_losers(results),
        *_parts(results),
        *_prices(results),
        *_starving(results),
    ]


def _pairs(results: Results) -> Iterator[str]:
    """Say how long pairs wait with meet, and beside the best combination."""
    told = []
    for load in LOADS:
        if found := _beside_best(results, BY_LOAD, load, (MEET, *SCHEMES)):
            meet, best, rival, share = found
            told.append(
                f"at Eureka's load {load:g} {meet} min, {share} % of the {rival} min of {best}, the best combination "
                "of hold and yield"
            )
    if told:
        yield f"**Pairs.** With meet a pair waits, in the mean: {'; '.join(told)}."


def _elsewhere(results: Results) -> Iterator[str]:
    """Say the same of all other experiments, in per cent."""
    told = []
    for experiment in results.experiments[1:]:
        shares = [
            f"{experiment.label(point)} {found[3]} % ({found[1]})"
            for point in experiment.points
            if (found := _beside_best(results, experiment.name, point, experiment.schemes))
        ]
        if shares:
            only = experiment.labels == (experiment.title,)
            told.append(", ".join(shares) if only else f"{experiment.title}: {', '.join(shares)}")
    if told:
        yield f"**Elsewhere** the wait of a pair is, in per cent of that of the best combination: {'; '.join(told)}."


def _beside_best(
    results: Results, experiment: str, point: float, schemes: Sequence[str]
) -> tuple[Estimate, str, Estimate, str] | None:
    """Return the wait of a pair with meet; the best of hold and yield, its wait, and the share in per cent."""
    means = {name: results.mean((experiment, point, name), PAIR_WAIT) for name in schemes}
    meet = next((means[name] for name in schemes if everybody_meets(name)), None)
    there = {name: mean for name, mean in means.items() if mean is not None and of_the_paper(name)}
    if meet is None or not there:
        return None
    best = min(there, key=lambda name: there[name].mean)
    share = f"{100 * meet.mean / there[best].mean:.0f}" if there[best].mean else "–"
    return meet, best, there[best], share


def _counts(against: Sequence[Comparison]) -> Iterator[str]:
    if not against:
        yield f"**Nothing is decided:** comparisons need at least {LEAST} replications."
        return
    counts = Counter(each.verdict for each in against)
    yield (
        f"**In numbers.** Of {len(against):,} comparisons with hold and yield, meet is better in {counts[BETTER]:,} "
        f"and worse in {counts[WORSE]:,}; {counts[OPEN]:,} are open, which includes equal values."
    )


def _by_measure(against: Sequence[Comparison]) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = {}
    for each in against:
        found.setdefault(each.measure, Counter())[each.verdict] += 1
    return found


def _wins(against: Sequence[Comparison]) -> Iterator[str]:
    won = [
        f"{_name(measure)} ({counts[BETTER]} of {counts.total()})"
        for measure, counts in _by_measure(against).items()
        if counts[BETTER]
    ]
    if won:
        yield f"**Where meet wins:** {', '.join(won)}."


def _ties(against: Sequence[Comparison]) -> Iterator[str]:
    tied = [_name(measure) for measure, counts in _by_measure(against).items() if not counts[BETTER] + counts[WORSE]]
    if tied:
        yield f"**Where it ties, or nothing can be shown:** {', '.join(tied)}."


def _losses(against: Sequence[Comparison]) -> Iterator[str]:
    if not against:
        return
    lost: dict[str, list[Comparison]] = {}
    for each in against:
        if each.verdict == WORSE:
            lost.setdefault(each.measure, []).append(each)
    if not lost:
        yield "**Where it loses:** nowhere that these replications can show."
        return
    of = _by_measure(against)
    listed = "; ".join(
        f"{_name(measure)} ({len(worse)} of {of[measure].total()}; most at {_place(max(worse, key=_rise))})"
        for measure, worse in lost.items()
    )
    yield f"**Where it loses:** {listed}."


def _rise(each: Comparison) -> float:
    """Return how much more meet has, as a share of what the other has."""
    return each.difference.mean / each.rival if each.rival else math.inf


def _against_base(against: Sequence[Comparison]) -> Iterator[str]:
    """Say what jobs without mates lose and win against no coscheduling, wherever that is decided."""
    if not against:
        return
    for word, wanted in (("wait longer", WORSE), ("wait less", BETTER)):
        listed = [f"{_name(each.measure)}, {_place(each)}" for each in against if each.verdict == wanted]
        yield (
            f"**Jobs without mates {word} than without coscheduling** in {len(listed)} of {len(against)} comparisons"
            f"{': ' + '; '.join(listed) if listed else ''}."
        )


def _losers(results: Results) -> Iterator[str]:
    told = []
    for load in LOADS:
        for machine in MACHINES:
            names = (LOSERS, LOSS, WINNERS, GAIN)
            found = [results.mean((BY_LOAD, load, MEET), f"{machine} {name}") for name in names]
            share, loss, winners, gain = (shown(value.mean) if value else "–" for value in found)
            told.append(f"{machine.capitalize()} at {load:g}: {share} % lose {loss} min, {winners} % win {gain} min")
    yield f"**One by one.** Of the jobs without mates, beside no coscheduling: {'; '.join(told)}."


def _parts(results: Results) -> Iterator[str]:
    """Say what the parts bring alone."""
    told = []
    for load in LOADS:
        waits = [_mean(results, load, schemes, PAIR_WAIT) for schemes in (BUDGET_ALONE, SLOTS_ALONE, MEET)]
        alone = [_mean(results, load, schemes, f"{MACHINES[1]} {WAIT}") for schemes in (BUDGET_ALONE, MEET)]
        if all(waits) and all(alone):
            told.append(
                f"at {load:g} pairs wait {_short(waits[0])} min with the budget alone, {_short(waits[1])} with slots "
                f"alone, {_short(waits[2])} with both (Eureka's jobs without mates: {_short(alone[0])} with the "
                f"budget, {_short(alone[1])} with both)"
            )
    if told:
        yield f"**The parts.** By Eureka's load, {'; '.join(told)}."


def _prices(results: Results) -> Iterator[str]:
    """Say what slots cost in node-time, and meet in calls."""
    lost = []
    for load in LOADS:
        for machine in MACHINES:
            both, budget = (BY_LOAD, load, MEET), (BY_LOAD, load, BUDGET_ALONE)
            more = results.difference(both, budget, f"{machine} {IDLE}")
            lost.append(f"{machine.capitalize()} at {load:g}: {more if more else '–'}")
    yield (
        "**Node-time lost to slots:** how much more node-time no job uses while jobs without mates wait, with meet "
        f"beside the budget alone, in per cent of all: {'; '.join(lost)}."
    )
    calls = [
        f"at {load:g} {_short(_mean(results, load, MEET, CALLS))} with meet, of which "
        f"{_short(_mean(results, load, MEET, PROPOSALS))} propose a slot, "
        + ", ".join(f"{_short(_mean(results, load, schemes, CALLS))} under {schemes}" for schemes in SCHEMES)
        for load in LOADS
    ]
    yield f"**Calls for each pair:** {'; '.join(calls)}."


def _starving(results: Results) -> Iterator[str]:
    never = sum(
        sum(results.values((each.name, point, schemes), f"{machine} {NEVER}").values())
        for each in results.experiments
        for point in each.points
        for schemes in each.schemes
        if everybody_meets(schemes)
        for machine in each.machines
    )
    told = [
        f"{machine.capitalize()} at {load:g}: {_hours(results, load, MEET, machine)} with meet, "
        f"{_hours(results, load, BASE, machine)} without coscheduling"
        for load in LOADS
        for machine in MACHINES
    ]
    yield (
        f"**Starving.** {never:.0f} jobs never started in any case with meet. The longest wait of a job without a "
        f"mate, in the mean over the replications: {'; '.join(told)}."
    )


def _mean(results: Results, load: float, schemes: str, measure: str) -> Estimate | None:
    return results.mean((BY_LOAD, load, schemes), measure)


def _hours(results: Results, load: float, schemes: str, machine: str) -> str:
    value = _mean(results, load, schemes, f"{machine} {LONGEST}")
    return "–" if value is None else f"{value.mean / 60:.1f} h"


def _short(value: Estimate | None) -> str:
    return "–" if value is None else shown(float(f"{value.mean:.3g}"))


def _place(each: Comparison) -> str:
    label = each.experiment.label(each.point)
    where = label if label == each.experiment.title else f"{each.experiment.axis} {label}"
    return f"{where} beside {each.other}: {signed(each.difference)} on {shown(each.rival)}"


def _name(measure: str) -> str:
    """Return a measure with its machine in front, as "Intrepid's sync time"."""
    machine, _, rest = measure.partition(" ")
    return measure if machine == "pair" else f"{machine.capitalize()}'s {rest}"
