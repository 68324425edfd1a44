"""The study's verdict in plain English, from its numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from cosched.sim.results.estimate import Estimate, shown, signed
from cosched.sim.studies.groups.measuring import (
    APART,
    GAP,
    GROUP_WAIT,
    GROUPS,
    HELD,
    NEVER,
    OTHERS_NEVER,
    SYNC,
    TOGETHER,
    WAIT,
)
from cosched.sim.studies.groups.results import REFERENCE, Comparison, Results, of_classes
from cosched.sim.studies.groups.setup import CLASSES, EXPERIMENTS, IN_PAIRS, SCHEMES, Experiment
from cosched.sim.studies.measured import BETTER, LEAST, OPEN, WORSE
from cosched.sim.studies.tang2011.setup import BASE


def verdict(results: Results) -> list[str]:
    """Return the paragraphs."""
    return [
        *_together(results),
        *_waits(results),
        *_syncs(results),
        *_held(results),
        *_more(results),
        *_beside_pairs(results),
        *_others(results),
        *_schemes(results),
    ]


def _together(results: Results) -> Iterator[str]:
    groups, together, apart, never = (
        sum(results.total(measure, schemes) for schemes in SCHEMES) for measure in (GROUPS, TOGETHER, APART, NEVER)
    )
    others = sum(results.total(measure, schemes) for measure in of_classes(OTHERS_NEVER) for schemes in SCHEMES)
    yield (
        f"**Together.** Of {groups:,} groups in all cases with coscheduling, {together:,} started together, {apart:,} "
        f"apart, and {never:,} never; of the other jobs {others:,} never started. Without coscheduling "
        f"{results.total(TOGETHER, BASE):,} of {results.total(GROUPS, BASE):,} groups started together, the others "
        f"{_range(results, BASE, GAP)} min apart in the mean."
    )


def _waits(results: Results) -> Iterator[str]:
    for experiment in EXPERIMENTS:
        told = [
            f"{experiment.label(point)}: {', '.join(_of_schemes(results, experiment, point, GROUP_WAIT))}"
            for point in experiment.points
        ]
        title = experiment.title[0].lower() + experiment.title[1:]
        yield f"**The wait of a group**, {title} (min): {'; '.join(told)}."


def _syncs(results: Results) -> Iterator[str]:
    experiment = EXPERIMENTS[0]
    told = [
        f"{experiment.label(point)}: {', '.join(_of_schemes(results, experiment, point, SYNC))}"
        for point in experiment.points
    ]
    yield (
        f"**Sync time of a member**, by the number of members (min): {'; '.join(told)}. In pairs, over all points: "
        f"{', '.join(f'{schemes} {_range(results, schemes + IN_PAIRS, SYNC)}' for schemes in SCHEMES)}."
    )


def _of_schemes(results: Results, experiment: Experiment, point: float, measure: str) -> Iterator[str]:
    """Yield what a measure is under each combination, the least first."""
    means = {name: results.mean((experiment.name, point, name), measure) for name in SCHEMES}
    there = {name: mean for name, mean in means.items() if mean is not None}
    for name in sorted(there, key=lambda name: there[name].mean):
        yield f"{name} {there[name]}"


def _held(results: Results) -> Iterator[str]:
    told = [
        f"{schemes} {_range(results, schemes, f'{name} {HELD}')} on the {name} machines "
        f"({_range(results, schemes + IN_PAIRS, f'{name} {HELD}')} in pairs)"
        for schemes in SCHEMES
        for name in CLASSES
        if max(results.means(schemes, f"{name} {HELD}"), default=0) > 0
    ]
    if told:
        yield f"**Held node-time** (per cent, over all points): {'; '.join(told)}."


def _more(results: Results) -> Iterator[str]:
    """Say how much longer other jobs wait than without coscheduling, in the mean over all points."""
    places = [place for schemes in SCHEMES for place in (schemes, schemes + IN_PAIRS)]
    told = []
    for name in CLASSES:
        more = {place: results.mean_difference(place, BASE, f"{name} {WAIT}") for place in places}
        listed = ", ".join(f"{place} {_signed(mean)}" for place, mean in more.items() if mean is not None)
        told.append(f"on the {name} machines, where they then wait {_range(results, BASE, f'{name} {WAIT}')}: {listed}")
    yield f"**Other jobs' waits**, beside no coscheduling, in the mean over all points (min): {'; '.join(told)}."


def _signed(value: float) -> str:
    return signed(Estimate(float(f"{value:.2g}")))


def _range(results: Results, schemes: str, measure: str) -> str:
    """Return the least and the greatest mean of a measure over all points."""
    means = results.means(schemes, measure)
    if not means:
        return "–"
    least, most = (shown(float(f"{value:.3g}")) for value in (min(means), max(means)))
    return least if least == most else f"{least} to {most}"


def _beside_pairs(results: Results) -> Iterator[str]:
    against = [each for each in results.comparisons if each.other.endswith(IN_PAIRS)]
    if not against:
        yield f"**Nothing is decided:** comparisons need at least {LEAST} replications."
        return
    told = _listed(against, lambda of: of.measure)
    yield f"**Beside the same jobs in pairs**, groups are {_counted(against)}.{told}"


def _others(results: Results) -> Iterator[str]:
    against = [each for each in results.comparisons if each.other == BASE]
    if against:
        told = _listed(against, lambda of: f"{of.measure} under {of.schemes}")
        yield f"**Other jobs, beside no coscheduling**, are {_counted(against)}.{told}"


def _schemes(results: Results) -> Iterator[str]:
    against = [each for each in results.comparisons if each.other == REFERENCE]
    if against:
        told = _listed(against, lambda of: f"{of.measure} under {of.schemes}")
        yield f"**Schemes, beside YY**, are {_counted(against)}.{told}"


def _counted(against: Sequence[Comparison]) -> str:
    counts = Counter(each.verdict for each in against)
    return (
        f"better in {counts[BETTER]:,} of {len(against):,} comparisons and worse in {counts[WORSE]:,}; "
        f"{counts[OPEN]:,} are open"
    )


def _listed(against: Sequence[Comparison], named: Callable[[Comparison], str]) -> str:
    """List what is better and worse, with the greatest difference of each."""
    told = []
    for word in (BETTER, WORSE):
        found: dict[str, list[Comparison]] = {}
        for each in against:
            if each.verdict == word:
                found.setdefault(named(each), []).append(each)
        names = [f"{name} ({len(of)}; most {_place(max(of, key=_size))})" for name, of in found.items()]
        if names:
            told.append(f" {word.capitalize()}: {'; '.join(names)}.")
    return "".join(told)


def _size(each: Comparison) -> float:
    return abs(each.difference.mean)


def _place(each: Comparison) -> str:
    where = f"{each.experiment.axis} {each.experiment.label(each.point)}"
    return f"{where}, {each.schemes}: {signed(each.difference)} on {shown(float(f'{each.rival:.3g}'))}"
