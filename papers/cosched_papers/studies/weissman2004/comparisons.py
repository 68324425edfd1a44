"""Ours beside the numbers of 4.4 (numbers.csv), the differences that claims are about, and other readings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product
from statistics import fmean

from cosched_papers.studies.weissman2004 import setup
from cosched_papers.studies.weissman2004.measuring import EVENTS, RATE, TOTAL
from cosched_papers.studies.weissman2004.readings import HIGH, READ
from cosched_papers.studies.weissman2004.results import Results, at_load, grid, linear, of_user
from cosched_papers.studies.weissman2004.setup import GAUSS, column, percent
from cosched_sim.results.estimate import Estimate, estimate
from cosched_sim.studies.measured import Of, average, differences, more
from cosched_sim.studies.paper import Finder, Found, Statement, read_statements
from cosched_sim.studies.verdicts import POSITIVE, Named, tally

SHOWN = (GAUSS, setup.MIXED)  # "we show GE and the MIXED workload only"
SHARES_3 = (0.5, 0.3, 0.1)
KINDS = {"Even-H": (setup.EVEN_FQ, setup.EVEN_FR), "Low-Imp": (setup.LOW_FQ, setup.LOW_FR)}


def ideal(name: str, measure: str) -> list[Of]:
    """Return where a baseline is that needs no min_%_of_ideal; it is the same for both models."""
    return at_load(setup.SDSC, setup.LOAD, name, measure)


def baseline(model: str, share: float, name: str, measure: str) -> Of | list[Of]:
    """Return where a baseline is."""
    return grid(model, share, name, measure) if name == setup.MOLDABLE else ideal(name, measure)


def names(models: Sequence[str], shares: Sequence[float] = setup.SHARES) -> Iterator[tuple[str, str, float]]:
    """Yield the places of figure 9 with their names."""
    for model, share in product(models, shares):
        yield f"{model}, {percent(share)}", model, share


def less_than_baselines(
    results: Results, name: str, measure: str, models: Sequence[str], shares: Sequence[float] = setup.SHARES
) -> list[Named]:
    """Return how much less a policy has than each baseline."""
    return differences(results, (
        (f"{other}, {place}", baseline(model, share, other, measure), grid(model, share, name, measure))
        for place, model, share in names(models, shares) for other in setup.BASELINES
    ))  # fmt: skip


def running_first(
    results: Results, measure: str, shares: Sequence[float], levels: Sequence[str], sign: int = 1
) -> list[Named]:
    """Return how much more FR has than FQ; `sign` -1: how much less."""
    return differences(results, (
        (f"{kind}, M = {m} at {percent(s)}", linear(s, first, m, measure), linear(s, then, m, measure))
        for kind, pair in KINDS.items() for first, then in [pair[::-sign]] for s in shares for m in levels
    ))  # fmt: skip


def _read(kind: str, share: float, name: str) -> Of:
    """Return where the measure of a policy is by a reading."""
    return (setup.READINGS, share, ""), f"{kind}: {name}"


def reading(results: Results, kind: str, name: str, share: float, measure: str) -> Estimate | None:
    """Return the mean of a policy by another reading."""
    return results.mean(*_read(kind, share, column(name, measure=measure)))


def reading_of_totals(results: Results) -> str:
    """Say in how many places FR has the lower total at high M, by each reading."""
    told = []
    for kind in READ:
        words = {}
        for (of, policies), share in product(KINDS.items(), setup.SHARES):
            longer = more(results, *(_read(kind, share, column(policy, HIGH, TOTAL)) for policy in policies))
            if longer is not None:
                words[f"{of} at {percent(share)}"] = POSITIVE.decides(longer)
        told.append(f"{kind} {tally(words, 'places').ours}")
    return f"places where FR has the lower total at M = {HIGH}, by reading: {'; '.join(told)}"


def less_by_reading(results: Results, name: str) -> str:
    """Return by how much the total of Even-H-FQ without a limit is below another at 10 %, by each reading."""
    told, policies = [], (name, column(setup.EVEN_FQ, setup.NO_LIMIT))
    for kind in READ:
        longer = more(results, *(_read(kind, setup.SHARES[-1], column(of, measure=TOTAL)) for of in policies))
        if longer is not None:
            told.append(f"{kind} {longer} min")
    return ", ".join(told)


def events_by_reading(results: Results, kind: str) -> tuple[Estimate | None, Estimate | None]:
    """Return the harvest events a job of Even-H-FQ and Even-H-FR by a reading, over all min_%_of_ideal."""
    queued, running = (
        average(results, [_read(kind, share, column(policy, HIGH, EVENTS)) for share in setup.SHARES])
        for policy in (setup.EVEN_FQ, setup.EVEN_FR)
    )
    return queued, running


@cache
def statements() -> list[Statement[Results]]:
    """Return all statements, in the order of the paper."""
    finders: dict[str, Finder] = {
        "factor": lambda results, name, measure: {"": results.factor(setup.SDSC, setup.LOAD, name, measure)},
        "less": _below,
        "everywhere": _everywhere,
        "over all": lambda results, *of: {"": average_of_there(results, over_all(*of))},
        "by user": _by_user,
        "throughput": lambda results, beta, share, name: {
            "": average(results, of_user(GAUSS, float(beta), float(share), name, RATE))
        },
    }
    return read_statements(__file__, finders)


def average_of_there(results: Results, places: Sequence[Of]) -> Estimate | None:
    """Return the mean over traces of the mean over some places; where a trace has no harvests, none succeed or fail."""
    found = [results.values(*place) for place in places]
    traces = sorted(set[int]().union(*found))
    means = [fmean(each[trace] for each in found if trace in each) for trace in traces]
    return estimate(means) if means else None


def over_all(model: str, policy: str, measure: str) -> list[Of]:
    """Return where a measure is for all M and shares: table 2 has "an average over all values"."""
    return [grid(model, share, column(policy, level), measure) for share in setup.SHARES for level in setup.LEVELS]


def _below(results: Results, name: str) -> Found:
    """Return by how many per cent the total is less than that of a baseline."""
    inverse = results.factor(setup.SDSC, setup.LOAD, name, TOTAL)
    if inverse is None:
        return {}
    half = None if inverse.half is None else 100 * inverse.half / inverse.mean**2
    return {"": Estimate(100 * (1 - 1 / inverse.mean), half)}


def _everywhere(results: Results, measure: str) -> Found:
    return {
        f"{policy}, {model}": average_of_there(results, over_all(model, policy, measure))
        for model, policy in product(setup.MODELS, setup.POLICIES)
    }


def _by_user(results: Results, measure: str, *names: str) -> Found:
    return {
        f"{name}, {a}, {percent(share)}, beta {beta:g}": results.user_factor(a, beta, share, name, measure)
        for a, beta, share, name in product(SHOWN, setup.BETAS, SHARES_3, names)
    }
