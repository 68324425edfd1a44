"""The study's verdict in plain English, from its numbers: where meet wins, where it ties, where it loses."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from cosched_papers.studies.meet import measuring
from cosched_papers.studies.meet.asked import figures
from cosched_papers.studies.meet.experiments import BY_LOAD
from cosched_papers.studies.meet.schemes import MEET, everybody_meets, of_the_paper
from cosched_papers.studies.tang2011.setup import BASE, LOADS, MACHINES, SCHEMES
from cosched_sim.results.estimate import Estimate, shown, signed
from cosched_sim.studies.design import Found, filled
from cosched_sim.studies.measured import BETTER, UNDECIDED, WORSE, Comparison, grouped
from cosched_sim.studies.paper import held
from cosched_sim.studies.study import words_of
from cosched_sim.studies.verdicts import FAILS, OPEN

WORDS = words_of(__file__)


def values(found: Found) -> dict[str, object]:
    """Return what the first sentences tell."""
    asked = figures(found)
    reached = Counter(each.reached for each in asked)
    failing = "; ".join(f"{each.what}: {each.measured}" for each in asked if each.reached == FAILS)
    waits = {load: _beside_best(found, BY_LOAD, load, (MEET, *SCHEMES)) for load in LOADS}
    meets = [f"{of[0]} min instead of {of[2]} at {at:g}" for at, of in waits.items() if of]
    against = [each for each in found.compared if of_the_paper(each.other[2])]
    lost = [name for name, of in _by_measure(against).items() if of[WORSE]]
    alone = [each.verdict for each in found.compared if each.other[2] == BASE]
    worse = alone.count(WORSE)
    return {
        "meets": ", ".join(meets),
        "counted": found.counted,
        "held": held(reached),
        "misses": f"Missed is: {failing}" if failing else "No figure is missed",
        "loses": f"; in some cases meet is worse than hold or yield by {' and by '.join(lost)}" if lost else "",
        "others": f"other jobs wait longer than without coscheduling in {worse} of {len(alone)} comparisons"
        if alone
        else "whether other jobs wait longer is not decided",
    }


def verdict(found: Found) -> list[str]:
    """Return the paragraphs."""
    against = [each for each in found.compared if of_the_paper(each.other[2])]
    return [
        *_pairs(found),
        *_elsewhere(found),
        *_counts(against),
        *_wins(found, against),
        *_against_base(found, [each for each in found.compared if each.other[2] == BASE]),
        *_told(found),
    ]


def _pairs(found: Found) -> Iterator[str]:
    """Say how long pairs wait with meet, and beside the best combination."""
    told = [
        f"at Eureka's load {load:g} {of[0]} min, {of[3]} % of the {of[2]} min of {of[1]}, the best combination of hold "
        "and yield"
        for load in LOADS
        if (of := _beside_best(found, BY_LOAD, load, (MEET, *SCHEMES)))
    ]
    if told:
        yield f"**Pairs.** With meet a pair waits, in the mean: {'; '.join(told)}."


def _elsewhere(found: Found) -> Iterator[str]:
    """Say the same of all other experiments, in per cent."""
    told = []
    for each in found.experiments[1:]:
        alone = len(each.points) == 1
        shares = [
            f"{of[3]} % of that under {of[1]}{'' if alone else f' at {each.label(point)}'}"
            for point in each.points
            if (of := _beside_best(found, each.name, point, each.schemes))
        ]
        told += [f"{each.title}: {', '.join(shares)}."] if shares else []
    if told:
        yield f"{WORDS['elsewhere']} {' '.join(told)}"


def _beside_best(
    found: Found, experiment: str, point: float, schemes: Sequence[str]
) -> tuple[Estimate, str, Estimate, str] | None:
    """Return the wait of a pair with meet; the best of hold and yield, its wait, and the share in per cent."""
    means = {name: found.mean((experiment, point, name), measuring.PAIR_WAIT) for name in schemes}
    meet = next((means[name] for name in schemes if everybody_meets(name)), None)
    there = {name: mean for name, mean in means.items() if mean is not None and of_the_paper(name)}
    if meet is None or not there:
        return None
    best = min(there, key=lambda name: there[name].mean)
    share = f"{100 * meet.mean / there[best].mean:.0f}" if there[best].mean else "–"
    return meet, best, there[best], share


def _counts(against: Sequence[Comparison]) -> Iterator[str]:
    if not against:
        yield UNDECIDED
        return
    counts = Counter(each.verdict for each in against)
    yield (
        f"**In numbers.** Of {len(against):,} comparisons with hold and yield, meet is better in {counts[BETTER]:,} "
        f"and worse in {counts[WORSE]:,}; {counts[OPEN]:,} are open, which includes equal values."
    )


def _by_measure(against: Sequence[Comparison]) -> dict[str, Counter[str]]:
    by_name = grouped(against, lambda of: _name(of.measure))
    return {name: Counter(each.verdict for each in of) for name, of in by_name.items()}


def _wins(found: Found, against: Sequence[Comparison]) -> Iterator[str]:
    """Say by which measures meet wins, ties and loses."""
    of = _by_measure(against)
    if won := [f"{name} ({counts[BETTER]} of {counts.total()})" for name, counts in of.items() if counts[BETTER]]:
        yield f"**Where meet wins:** {', '.join(won)}."
    if tied := [name for name, counts in of.items() if not counts[BETTER] + counts[WORSE]]:
        yield f"**Where it ties, or nothing can be shown:** {', '.join(tied)}."
    lost = grouped((each for each in against if each.verdict == WORSE), lambda of: _name(of.measure))
    told = [
        f"{name} ({len(worse)} of {of[name].total()}; most at {_place(found, max(worse, key=_rise))})"
        for name, worse in lost.items()
    ]
    if against:
        yield f"**Where it loses:** {'; '.join(told) or 'nowhere that these replications can show'}."


def _rise(each: Comparison) -> float:
    """Return how much more meet has, as a share of what the other has."""
    return each.difference.mean / each.rival.mean if each.rival.mean else math.inf


def _against_base(found: Found, against: Sequence[Comparison]) -> Iterator[str]:
    """Say what jobs without mates lose and win against no coscheduling, wherever that is decided."""
    if not against:
        return
    for word, wanted in (("wait longer", WORSE), ("wait less", BETTER)):
        listed = [f"{_name(each.measure)}, {_place(found, each)}" for each in against if each.verdict == wanted]
        yield (
            f"**Jobs without mates {word} than without coscheduling** in {len(listed)} of {len(against)} comparisons"
            f"{': ' + '; '.join(listed) if listed else ''}."
        )


def _told(found: Found) -> Iterator[str]:
    """Say what words.toml has by Eureka's load."""
    meeting = [(each, place) for each, place in found.places if everybody_meets(place[2])]
    never = sum(found.total(f"{of} {measuring.NEVER}", [place]) for each, place in meeting for of in each.machines)
    for told in WORDS["told"]:
        machines = MACHINES if "{machine}" in told["each"] else MACHINES[:1]
        lines = [
            filled(found, told["each"].format(machine=name, Machine=name.capitalize(), load=f"{load:g}"), BY_LOAD, load)
            for load in LOADS
            for name in machines
        ]
        yield told["text"].format("; ".join(lines), never=never)


def _place(found: Found, each: Comparison) -> str:
    experiment, label = found.experiment(each.place), found.label(each.place)
    where = label if label == experiment.title else f"{experiment.axis} {label}"
    return f"{where} beside {each.other[2]}: {signed(each.difference)} on {shown(each.rival.mean)}"


def _name(measure: str) -> str:
    """Return a measure with its machine in front, as "Intrepid's sync time"."""
    machine, _, rest = measure.partition(" ")
    return measure if machine == "pair" else f"{machine.capitalize()}'s {rest}"
