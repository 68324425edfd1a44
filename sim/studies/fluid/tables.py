"""The study's tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from polars import DataFrame

from cosched.sim.results.estimate import signed
from cosched.sim.studies.fluid.measuring import PAIRED_TOTAL, RESIZES, TOTAL
from cosched.sim.studies.fluid.results import COMPARED, SHOWN, Results
from cosched.sim.studies.fluid.setup import BATCH, COMBINATIONS, EUREKA, INTREPID
from cosched.sim.studies.means import MeansTable, cell
from cosched.sim.studies.measured import BETTER, OPEN, WORSE, verdict_of
from cosched.sim.sweeps.averages import INTERVAL

ALL = (*SHOWN, *(f"{name} {of}" for name in (INTREPID, EUREKA) for of in (TOTAL, PAIRED_TOTAL, RESIZES)))
ALL_ONCE = tuple(dict.fromkeys(ALL))
VERDICTS = (BETTER, OPEN, WORSE)
TOGETHER = "together "


def means_table(results: Results) -> MeansTable:
    """Return the means of all places."""
    rows = [
        [_name(kind), _percent(share), schemes]
        + [cell(results.mean((kind, share, schemes), measure)) for measure in SHOWN]
        for kind, share in results.places
        for schemes in COMBINATIONS
    ]
    return MeansTable("Means", ["Eureka", "Pairs", "Schemes", *SHOWN], rows)


def differences_tables(results: Results) -> Iterator[MeansTable]:
    """Yield for each scheduler of Eureka how much more there is than with a batch one, with 95 % intervals."""
    for kind, share in results.places:
        if kind == BATCH.name:
            continue
        rows = [[schemes, *_differences(results, kind, share, schemes)] for schemes in COMBINATIONS]
        title = f"Fluid ({kind}) less batch, {_percent(share)} of Intrepid's jobs paired"
        yield MeansTable(title, ["Schemes", *COMPARED], rows)


def _differences(results: Results, kind: str, share: float, schemes: str) -> Iterator[str]:
    for measure in COMPARED:
        more = results.difference((kind, share, schemes), (BATCH.name, share, schemes), measure)
        yield "–" if more is None else signed(more)


def verdicts_table(results: Results) -> MeansTable:
    """Return how many comparisons of each measure are better, open and worse, alone and all together."""
    counts = {measure: Counter[str]() for measure in COMPARED}
    for each in results.comparisons:
        counts[each.measure][verdict_of(each.difference)] += 1
        counts[each.measure][TOGETHER + each.verdict] += 1
    words = (*VERDICTS, *(TOGETHER + word for word in VERDICTS))
    rows = [[measure, *(str(found[word]) for word in words)] for measure, found in counts.items()]
    return MeansTable("Fluid beside batch, by 95 % intervals each, and all together", ["Measure", *words], rows)


def averages_table(results: Results) -> DataFrame:
    """Return all means with their own intervals."""
    rows = []
    for kind, share in results.places:
        for schemes in COMBINATIONS:
            place = kind, share, schemes
            row: dict[str, object] = {"eureka": kind, "share": share, "schemes": schemes}
            row["replications"] = results.count(place)
            for measure in ALL_ONCE:
                found = results.mean(place, measure)
                row |= {measure: found and found.mean, measure + INTERVAL: found and found.half}
            rows.append(row)
    return DataFrame(rows, infer_schema_length=None)


def comparisons_table(results: Results) -> DataFrame:
    """Return all comparisons; "half" is the half-width of the 95 % interval, "simultaneous" that of all together."""
    rows = [
        (
            each.kind, each.share, each.schemes, each.measure, each.batch.mean,
            each.difference.mean, each.difference.half, each.simultaneous.half, each.verdict,
        )
        for each in results.comparisons
    ]  # fmt: skip
    heads = ["eureka", "share", "schemes", "measure", "batch", "difference", "half", "simultaneous", "verdict"]
    return DataFrame(rows, schema=heads, orient="row", infer_schema_length=None)


def _name(kind: str) -> str:
    return kind if kind == BATCH.name else f"fluid: {kind}"


def _percent(share: float) -> str:
    return f"{100 * share:g} %"
