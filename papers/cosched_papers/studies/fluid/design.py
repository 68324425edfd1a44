"""The study: what differs between its places, what it compares, and what it says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from polars import DataFrame

from cosched_papers.studies.fluid import setup
from cosched_papers.studies.fluid.measuring import PAIRED_TOTAL, RESIZES, TOTAL, measures
from cosched_papers.studies.fluid.setup import BATCH, COMBINATIONS, EUREKA, FEW_SHARES, INTREPID, MAIN, MEDIUM_SHARE
from cosched_papers.studies.meet.measuring import HELD, PAIR_WAIT, PAIRS, SYNC, TOGETHER, WAIT
from cosched_papers.studies.meet.schemes import MEET
from cosched_sim.reports.page import Section, Table
from cosched_sim.results.estimate import Estimate, signed
from cosched_sim.studies.design import COLUMNS, Asked, Design, Experiment, Found
from cosched_sim.studies.measured import BETTER, UNDECIDED, WORSE, Comparison, verdict_of
from cosched_sim.studies.study import Said, words_of
from cosched_sim.studies.tables import averages_table, cell, comparisons_table, means_table
from cosched_sim.studies.verdicts import OPEN, spread

# Of each less is better.
COMPARED = (PAIR_WAIT, f"{INTREPID} {SYNC}", f"{INTREPID} {WAIT}", f"{EUREKA} {WAIT}", f"{EUREKA} {TOTAL}")
SHOWN = (*COMPARED, f"{INTREPID} {HELD}", f"{EUREKA} {HELD}")
ALL = (*SHOWN, *(f"{name} {of}" for name in (INTREPID, EUREKA) for of in (TOTAL, PAIRED_TOTAL, RESIZES)))
VERDICTS = (BETTER, OPEN, WORSE)


def experiments(said: Said, _: Path | None = None) -> list[Experiment]:
    """Return a scheduler of Eureka at a time, at a share of pairs; some at few and many pairs, too."""

    def at(kind: setup.Kind, share: float, schemes: str, number: int) -> dict[str, Any]:
        return setup.settings(kind, share, schemes, number, said["seed"], said["days"])

    kinds = (BATCH, MAIN) if said["quick"] else (BATCH, *setup.FLUID)
    points = [(kind, MEDIUM_SHARE) for kind in kinds]
    points += [] if said["quick"] else [(kind, share) for share in FEW_SHARES for kind in (BATCH, MAIN)]
    again = said["replications"]
    return [
        Experiment(of.name, of.name, "share", (share,), COMBINATIONS, partial(at, of), replications=again)
        for of, share in points
    ]


def compared(experiment: Experiment) -> Asked:
    """Compare a fluid scheduler with the batch one, at the same share of pairs under the same schemes."""
    if experiment.name != BATCH.name:
        for place in experiment.places:
            for measure in COMPARED:
                yield place, (BATCH.name, *place[1:]), measure


def values(found: Found) -> dict[str, object]:
    """Return what the first sentences tell."""
    pairs, apart = _apart(found)
    waits: dict[str, dict[str, Estimate]] = {}
    for kind in (MAIN.name, BATCH.name):
        means = {schemes: found.mean((kind, MEDIUM_SHARE, schemes), PAIR_WAIT) for schemes in COMBINATIONS}
        waits[kind] = {schemes: mean for schemes, mean in means.items() if mean is not None}
    fluid, batch = (spread(list(of.values())) if of else "–" for of in waits.values())
    meets = waits[MAIN.name].pop(MEET, None)
    others = min(waits[MAIN.name].values(), key=lambda mean: mean.mean, default=None)
    told = {"fluid": fluid, "batch": batch, "meets": cell(meets), "others": cell(others)}
    together = f"{pairs - apart:,}"
    return {**told, "pairs": f"{pairs:,}", "together": together, "kind": MAIN.name, "counted": found.counted}


def _apart(found: Found) -> tuple[int, int]:
    """Return how many pairs there were in all cases, and how many of these did not start together."""
    pairs, together = (found.total(measure, (place for _, place in found.places)) for measure in (PAIRS, TOGETHER))
    return pairs, pairs - together


def verdict(found: Found) -> list[str]:
    """Return the paragraphs of the verdict."""
    pairs, apart = _apart(found)
    told = [f"Of {pairs:,} pairs in all cases {pairs - apart:,} started together."]
    against = found.compared
    if not against:
        return [*told, UNDECIDED]
    together, alone = (
        Counter(words) for words in zip(*((of.verdict, verdict_of(of.alone)) for of in against), strict=True)
    )
    told.append(
        f"A fluid Eureka is better in {together[BETTER]} of {len(against)} comparisons, worse in {together[WORSE]}; "
        "the others are open. These intervals hold together (Bonferroni). By intervals of 95 % each it is better in "
        f"{alone[BETTER]} and worse in {alone[WORSE]}."
    )
    for measure in COMPARED:
        here = [of for of in against if (*of.place[:2], of.measure) == (MAIN.name, MEDIUM_SHARE, measure)]
        listed = ", ".join(f"{of.place[2]} {signed(of.alone)} on {of.rival}" for of in here)
        told.append(f"{measure[0].upper() + measure[1:]}, {MAIN.name}: {listed}.")
    return told


def sections(found: Found) -> Iterator[Section]:
    """Yield the tables of differences, of verdicts, and of means."""
    yield Section("Tables", tables=[*_differences(found), _verdicts(found.compared), _means(found)])


def _means(found: Found) -> Table:
    heads = ["Eureka", "Pairs", "Schemes", *SHOWN]
    named = (("fluid: " * (place[0] != BATCH.name) + place[0], place) for _, place in found.places)
    return means_table(found, "Means", heads, (([name, _percent(of[1]), of[2]], of) for name, of in named), SHOWN)


def _differences(found: Found) -> Iterator[Table]:
    """Yield for each scheduler of Eureka how much more there is than with a batch one, with 95 % intervals."""
    for each in found.experiments[1:]:
        if each.name != BATCH.name:
            rows = []
            for place in each.places:
                batch = (BATCH.name, *place[1:])
                rows.append([place[2], *(signed(found.difference(place, batch, measure)) for measure in COMPARED)])
            title = f"Fluid ({each.name}) less batch, {_percent(each.points[0])} of Intrepid's jobs paired"
            yield Table(title, "", ["Schemes", *COMPARED], rows)


def _verdicts(compared: Sequence[Comparison]) -> Table:
    """Return how many comparisons of each measure are better, open and worse, alone and all together."""
    words = (*VERDICTS, *(f"together {word}" for word in VERDICTS))
    counts = {measure: Counter[str]() for measure in COMPARED}
    for each in compared:
        counts[each.measure].update([verdict_of(each.alone), f"together {each.verdict}"])
    rows = [[measure, *(str(found[word]) for word in words)] for measure, found in counts.items()]
    return Table("Fluid beside batch, by 95 % intervals each, and all together", "", ["Measure", *words], rows)


def tables(found: Found) -> Iterator[tuple[str, DataFrame]]:
    """Yield all means, and all comparisons, with both intervals of each."""
    measures = list(dict.fromkeys(ALL))
    places = (({"eureka": p[0], "share": p[1], "schemes": p[2]}, p, measures) for _, p in found.places)
    yield "averages", averages_table(found, places)
    yield "comparisons", comparisons_table(found.compared, {head: {**COLUMNS, **OWN}[head] for head in HEADS})


OWN: Mapping[str, Callable[[Comparison], Any]] = {
    "eureka": COLUMNS["experiment"],
    "share": COLUMNS["point"],
    "batch": COLUMNS["other's"],
    "difference": lambda of: of.alone.mean,
    "half": lambda of: of.alone.half,
    "simultaneous": COLUMNS["half"],
}
HEADS = ("eureka", "share", "schemes", "measure", "batch", "difference", "half", "simultaneous", "verdict")


def _percent(share: float) -> str:
    return f"{100 * share:g} %"


WORK = Design(
    words=words_of(__file__), experiments=experiments, measure=measures, measures=SHOWN, compared=compared,
    values=values, verdict=verdict, sections=sections, tables=tables, places="Places",
).work  # fmt: skip
