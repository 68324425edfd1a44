"""The study's first sentences, and its verdict in plain English, from its numbers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from cosched_papers.studies.groups import measuring
from cosched_papers.studies.groups.setup import CLASSES, IN_PAIRS, SCHEMES
from cosched_papers.studies.meet.schemes import MEET
from cosched_papers.studies.tang2011.setup import BASE
from cosched_sim.results.estimate import Estimate, shown3, signed
from cosched_sim.studies.design import Experiment, Found
from cosched_sim.studies.measured import BETTER, UNDECIDED, WORSE, Comparison, Place, grouped
from cosched_sim.studies.verdicts import OPEN, spread

REFERENCE = "YY"  # which the other schemes are compared with


def everywhere(found: Found, schemes: str) -> Iterator[Place]:
    """Return all places of a combination, also those where nothing was run."""
    return ((each.name, point, schemes) for each in found.experiments for point in each.points)


def values(found: Found) -> dict[str, object]:
    """Return what the first sentences tell."""
    groups, together = (f"{_total(found, measure, *SCHEMES):,}" for measure in (measuring.GROUPS, measuring.TOGETHER))
    means = {schemes: _means(found, schemes, measuring.GROUP_WAIT) for schemes in SCHEMES[:-1]}
    best = min(means, key=lambda schemes: float(np.mean(means[schemes])) if means[schemes] else math.inf)
    meets, others = (_spread(found, schemes, measuring.GROUP_WAIT) for schemes in (MEET, best))
    sync, in_pairs = (_spread(found, place, measuring.SYNC) for place in (MEET, MEET + IN_PAIRS))
    told = {"groups": groups, "together": together, "meets": meets, "others": others, "best": best}
    return {**told, "sync": sync, "in_pairs": in_pairs, "counted": found.counted}


def verdict(found: Found) -> list[str]:
    """Return the paragraphs."""
    return [*_together(found), *_waits(found), *_held(found), *_more(found), *_beside(found)]


def _together(found: Found) -> Iterator[str]:
    groups, together, apart, never = (
        _total(found, measure, *SCHEMES)
        for measure in (measuring.GROUPS, measuring.TOGETHER, measuring.APART, measuring.NEVER)
    )
    others = sum(_total(found, f"{name} {measuring.OTHERS_NEVER}", *SCHEMES) for name in CLASSES)
    alone, of = (f"{_total(found, measure, BASE):,}" for measure in (measuring.TOGETHER, measuring.GROUPS))
    yield (
        f"**Together.** Of {groups:,} groups in all cases with coscheduling, {together:,} started together, {apart:,} "
        f"apart, and {never:,} never; of the other jobs {others:,} never started. Without coscheduling "
        f"{alone} of {of} groups started together, the others "
        f"{_range(found, BASE, measuring.GAP)} min apart in the mean."
    )


def _waits(found: Found) -> Iterator[str]:
    for experiment in found.experiments:
        title = experiment.title[0].lower() + experiment.title[1:]
        yield f"**The wait of a group**, {title} (min): {_by_point(found, experiment, measuring.GROUP_WAIT)}."
    members = found.experiments[0]
    in_pairs = ", ".join(f"{schemes} {_range(found, schemes + IN_PAIRS, measuring.SYNC)}" for schemes in SCHEMES)
    yield (
        f"**Sync time of a member**, by the number of members (min): {_by_point(found, members, measuring.SYNC)}. In "
        f"pairs, over all points: {in_pairs}."
    )


def _by_point(found: Found, of: Experiment, measure: str) -> str:
    return "; ".join(f"{of.label(at)}: {', '.join(_of_schemes(found, of, at, measure))}" for at in of.points)


def _of_schemes(found: Found, experiment: Experiment, point: float, measure: str) -> Iterator[str]:
    """Yield what a measure is under each combination, the least first."""
    means = {name: found.mean((experiment.name, point, name), measure) for name in SCHEMES}
    there = {name: mean for name, mean in means.items() if mean is not None}
    for name in sorted(there, key=lambda name: there[name].mean):
        yield f"{name} {there[name]}"


def _held(found: Found) -> Iterator[str]:
    told = [
        f"{schemes} {_range(found, schemes, f'{name} {measuring.HELD}')} on the {name} machines "
        f"({_range(found, schemes + IN_PAIRS, f'{name} {measuring.HELD}')} in pairs)"
        for schemes in SCHEMES
        for name in CLASSES
        if max(_means(found, schemes, f"{name} {measuring.HELD}"), default=0) > 0
    ]
    if told:
        yield f"**Held node-time** (per cent, over all points): {'; '.join(told)}."


def _more(found: Found) -> Iterator[str]:
    """Say how much longer other jobs wait than without coscheduling, in the mean over all points."""
    places = [place for schemes in SCHEMES for place in (schemes, schemes + IN_PAIRS)]
    told = []
    for name in CLASSES:
        more = {place: _mean_difference(found, place, BASE, f"{name} {measuring.WAIT}") for place in places}
        listed = ", ".join(f"{place} {_signed(mean)}" for place, mean in more.items() if mean is not None)
        usual = _range(found, BASE, f"{name} {measuring.WAIT}")
        told.append(f"on the {name} machines, where they then wait {usual}: {listed}")
    yield f"**Other jobs' waits**, beside no coscheduling, in the mean over all points (min): {'; '.join(told)}."


def _signed(value: float) -> str:
    return signed(Estimate(float(f"{value:.2g}")))


def _range(found: Found, schemes: str, measure: str) -> str:
    """Return the least and the greatest mean of a measure over all points."""
    means = _means(found, schemes, measure)
    if not means:
        return "–"
    least, most = (shown3(value) for value in (min(means), max(means)))
    return least if least == most else f"{least} to {most}"


def _spread(found: Found, schemes: str, measure: str) -> str:
    """Return the least and the greatest mean of a measure over all points, with their intervals."""
    means = [mean for place in everywhere(found, schemes) if (mean := found.mean(place, measure)) is not None]
    return spread(means) if means else "–"


def _beside(found: Found) -> Iterator[str]:
    """Say how the comparisons came out: with pairs, with no coscheduling, and with YY."""
    if not found.compared:
        yield UNDECIDED
        return
    for title, of in (
        ("**Beside the same jobs in pairs**, groups", IN_PAIRS),
        ("**Other jobs, beside no coscheduling**,", BASE),
        ("**Schemes, beside YY**,", REFERENCE),
    ):
        against = [each for each in found.compared if each.other[2].removeprefix(each.place[2]) == of]
        counts = Counter(each.verdict for each in against)
        yield (
            f"{title} are better in {counts[BETTER]:,} of {len(against):,} comparisons and worse in {counts[WORSE]:,}; "
            f"{counts[OPEN]:,} are open.{_listed(found, against, of == IN_PAIRS)}"
        )


def _listed(found: Found, against: Sequence[Comparison], whatever: bool) -> str:
    """List what is better and worse, with the greatest difference of each; `whatever` the schemes, or for each."""
    told = []
    for word in (BETTER, WORSE):
        of_word = [each for each in against if each.verdict == word]
        there = grouped(of_word, lambda of: of.measure if whatever else f"{of.measure} under {of.place[2]}")
        names = [
            f"{name} ({len(of)}; most {_place(found, max(of, key=lambda each: abs(each.difference.mean)))})"
            for name, of in there.items()
        ]
        if names:
            told.append(f" {word.capitalize()}: {'; '.join(names)}.")
    return "".join(told)


def _place(found: Found, each: Comparison) -> str:
    where = f"{found.experiment(each.place).axis} {found.label(each.place)}"
    return f"{where}, {each.place[2]}: {signed(each.difference)} on {shown3(each.rival.mean)}"


def _total(found: Found, measure: str, *schemes: str) -> int:
    """Return the sum of a count over all cases of some combinations."""
    return sum(found.total(measure, everywhere(found, each)) for each in schemes)


def _means(found: Found, schemes: str, measure: str) -> list[float]:
    """Return the means of a measure at all points."""
    means = (found.mean(place, measure) for place in everywhere(found, schemes))
    return [mean.mean for mean in means if mean is not None]


def _mean_difference(found: Found, schemes: str, other: str, measure: str) -> float | None:
    """Return how much more of a measure there is under one combination than another, over all points of both."""
    both = zip(everywhere(found, schemes), everywhere(found, other), strict=True)
    there = [more.mean for one, two in both if (more := found.difference(one, two, measure)) is not None]
    return float(np.mean(there)) if there else None
