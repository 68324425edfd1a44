"""Differences that claims are about, on the same traces; and what other readings of the paper change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cosched.sim.results.estimate import Estimate
from cosched.sim.studies.claims import Named
from cosched.sim.studies.weissman2004.measuring import EVENTS, TOTAL
from cosched.sim.studies.weissman2004.readings import HIGH, READ
from cosched.sim.studies.weissman2004.results import Of, Results, at_load, grid
from cosched.sim.studies.weissman2004.setup import (
    BASELINES,
    EVEN_FQ,
    EVEN_FR,
    LINEAR,
    LOAD,
    LOW_FQ,
    LOW_FR,
    MOLDABLE,
    NO_LIMIT,
    READINGS,
    SDSC,
    SHARES,
    column,
    percent,
)

KINDS = {"Even-H": (EVEN_FQ, EVEN_FR), "Low-Imp": (LOW_FQ, LOW_FR)}
MOST_FAVOURED = HIGH


def ideal(name: str, measure: str) -> list[Of]:
    """Return where a baseline is that needs no min_%_of_ideal; it is the same for both models."""
    return at_load(SDSC, LOAD, name, measure)


def baseline(model: str, share: float, name: str, measure: str) -> Of | list[Of]:
    """Return where a baseline is."""
    return grid(model, share, name, measure) if name == MOLDABLE else ideal(name, measure)


def names(models: Sequence[str], shares: Sequence[float] = SHARES) -> Iterator[tuple[str, str, float]]:
    """Yield the places of figure 9 with their names."""
    for model in models:
        for share in shares:
            yield f"{model}, {percent(share)}", model, share


def less_than_baselines(
    results: Results, name: str, measure: str, models: Sequence[str], shares: Sequence[float] = SHARES
) -> list[Named]:
    """Return how much less a policy has than each baseline."""
    return [
        (
            f"{other}, {place}",
            results.more(baseline(model, share, other, measure), grid(model, share, name, measure)),
        )
        for place, model, share in names(models, shares)
        for other in BASELINES
    ]


def running_first(
    results: Results, measure: str, shares: Sequence[float], levels: Sequence[str], sign: int = 1
) -> list[Named]:
    """Return how much more FR has than FQ; `sign` -1: how much less."""
    found: list[Named] = []
    for kind, (queued, running) in KINDS.items():
        for share in shares:
            for level in levels:
                pair = [grid(LINEAR, share, column(policy, level), measure) for policy in (running, queued)]
                found.append((f"{kind}, M = {level} at {percent(share)}", results.more(*pair[::sign])))
    return found


def reading(results: Results, kind: str, name: str, share: float, measure: str) -> Estimate | None:
    """Return the mean of a policy by another reading."""
    return results.mean((READINGS, share, ""), f"{kind}: {column(name, measure=measure)}")


def reading_of_totals(results: Results) -> str:
    """Say in how many places FR has the lower total at high M, by each reading."""
    told = []
    for kind in READ:
        lower = there = 0
        for queued, running in KINDS.values():
            for share in SHARES:
                pair = [
                    ((READINGS, share, ""), f"{kind}: {column(policy, HIGH, TOTAL)}") for policy in (running, queued)
                ]
                difference = results.more(*pair)
                there += difference is not None
                lower += difference is not None and difference.mean < 0
        told.append(f"{kind} {lower} of {there}")
    return f"places where FR has the lower total at M = {HIGH}, by reading: {', '.join(told)}"


def reading_of_moldable(results: Results) -> str:
    """Say by how much the total of Even-H-FQ without a limit is below that of MOLDABLE at 10 %, by each reading."""
    place = READINGS, SHARES[-1], ""
    told = []
    for kind in READ:
        columns = (f"{kind}: {column(MOLDABLE, measure=TOTAL)}", f"{kind}: {column(EVEN_FQ, NO_LIMIT, TOTAL)}")
        if (less := results.more((place, columns[0]), (place, columns[1]))) is not None:
            told.append(f"{kind} {less} min")
    return f"below MOLDABLE by reading: {', '.join(told)}"


def reading_of_limits(results: Results) -> str:
    """Say by how much the total of Even-H-FQ falls from M = 12 to no limit at 10 %, by each reading."""
    place = READINGS, SHARES[-1], ""
    told = []
    for kind in READ:
        columns = [f"{kind}: {column(EVEN_FQ, level, TOTAL)}" for level in (HIGH, NO_LIMIT)]
        if (less := results.more((place, columns[0]), (place, columns[1]))) is not None:
            told.append(f"{kind} {less} min")
    return f"Even-H-FQ falls from M = {HIGH} to no limit at 10 % by reading: {', '.join(told)}"


def events_by_reading(results: Results, kind: str) -> tuple[Estimate | None, Estimate | None]:
    """Return the harvest events a job of Even-H-FQ and Even-H-FR by a reading, over all min_%_of_ideal."""
    found = [
        results.average([((READINGS, share, ""), f"{kind}: {column(policy, HIGH, EVENTS)}") for share in SHARES])
        for policy in (EVEN_FQ, EVEN_FR)
    ]
    return found[0], found[1]
