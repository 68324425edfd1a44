"""The study: what its options say, its sections, and its first sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from polars import DataFrame

from cosched_papers.studies.weissman2004 import setup
from cosched_papers.studies.weissman2004.cases import cases
from cosched_papers.studies.weissman2004.claims import claims
from cosched_papers.studies.weissman2004.comparisons import over_all, statements
from cosched_papers.studies.weissman2004.figures import fit_figures, paper_figures
from cosched_papers.studies.weissman2004.goodness import goodness
from cosched_papers.studies.weissman2004.measuring import EVENTS, WAIT
from cosched_papers.studies.weissman2004.results import Results, at_load
from cosched_papers.studies.weissman2004.tables import averages_table, fits_table, loads_table, readings_table
from cosched_sim.reports.page import Section
from cosched_sim.studies.measured import average
from cosched_sim.studies.paper import Beside
from cosched_sim.studies.report import Report, sections_in_markdown
from cosched_sim.studies.study import Said, Told, Work, seeds, words_of
from cosched_sim.studies.tables import cell
from cosched_sim.studies.verdicts import inconclusive, spread

QUICK_JOBS, JOBS = 2000, 10_000
USER_JOBS = 300

WORDS = words_of(__file__)
PAPER = WORDS["paper"]


def describe(said: Said, given: Mapping[str, Any], _: Path, told: Told) -> Said:
    """Fit the logs, and add how well that is done; InputError."""
    told.step("fitting the logs ...")
    usual = {key: said[key] for key in ("study", "version", "command", "quick", "traces")}
    sizes = {"jobs": QUICK_JOBS if said["quick"] else JOBS, "user jobs": USER_JOBS}
    logs = [str(Path(log).resolve()) for log in given["log"]]
    return {**usual, **sizes, **said, "logs": logs, "fits": [goodness(log) for log in given["log"]]}


def plan_of(said: Said) -> setup.Plan:
    """Return the plan that study.json describes."""
    logs = [str(log) for log in said["logs"]]
    return setup.Plan(said["traces"], said["jobs"], said["user jobs"], said["seed"], said["quick"], logs)


def report(said: Said, _: Path, rows: DataFrame) -> Report:
    """Return what was found."""
    results, replicated, missing = Results(rows), _replications(said), WORDS["quick"] * said["quick"]
    conclusive = not inconclusive(said, said["traces"])
    beside = Beside.of("4.4", statements(), claims(), results, counted="traces", conclusive=conclusive)
    more, figures = list(_more(said, results)), paper_figures(results)
    words = [each for name in ("system", "user", "rules", "single", "misprints") for each in (WORDS[name], "")]
    single = Section("System-centric iScheduling", WORDS["single"], figures[:6])
    user = Section("User-centric iScheduling", "", figures[6:])
    fitted = [Section("The models and the logs", "", list(fit_figures(said["fits"])))] if said["fits"] else []
    numbers, held = beside.sections(WORDS["ratios"])
    return Report(
        said=said,
        count=said["traces"],
        title="Integrated scheduling",
        subtitle=f"{PAPER}, carried out again",
        first=_first(results, beside.score),
        facts=list(_facts(said)),
        tiles=list(beside.tiles),
        sections=[numbers, held, single, user, *more, *fitted],
        markdown=[
            *(f"{PAPER}. {replicated}", "", *([missing, ""] if missing else []), *words),
            *sections_in_markdown([numbers, *more, held]),
        ],
        tables=(*beside.tables, ("averages", averages_table(results))),
        told=[replicated, *beside.told, *filter(None, [missing])],
        failed=results.failed,
        files=("every number and claim of the paper beside ours, all figures", "the same, and all means, as CSV"),
    )


def _first(results: Results, score: str) -> list[str]:
    """Return the five sentences."""
    places = [over_all(model, policy, EVENTS) for model in setup.MODELS for policy in setup.POLICIES]
    events = [mean for place in places if (mean := average(results, place)) is not None]
    values = {"score": score, "events": spread(events) if events else "–"}
    values["wait"] = cell(average(results, at_load(setup.SDSC, setup.LOAD, setup.BEST, WAIT)))
    for word, name in (("ideal", setup.IDEAL_ONLY), ("backfill", setup.BACKFILL), ("moldable", setup.MOLDABLE)):
        values[word] = cell(results.factor(setup.SDSC, setup.LOAD, name, WAIT))
    return [sentence.format(**values) for sentence in WORDS["first"]]


def _more(said: Said, results: Results) -> Iterator[Section]:
    """Yield what goes beyond the paper's numbers."""
    loads, readings = loads_table(results, said["fits"]), readings_table(results)
    yield Section(loads.title, " ".join((WORDS["loads"], WORDS["length"])), tables=[loads])
    yield Section(readings.title, WORDS["readings"], tables=[readings])
    if said["fits"]:
        fits = fits_table(said["fits"])
        yield Section(fits.title, WORDS["distances"], tables=[fits])


def _facts(said: Said) -> Iterator[tuple[str, str]]:
    yield "Traces", _replications(said)
    if said["quick"]:
        yield "Left out", WORDS["quick"]
    for name, word in (("System-centric", "system"), ("User-centric", "user")):
        yield name, WORDS[word].removeprefix(f"{name}: ")
    yield from (("Rules", WORDS["rules"]), ("Misprints", WORDS["misprints"]))


def _replications(said: Said) -> str:
    """Say in a sentence what was replicated."""
    count = len(said["logs"])
    logs = f" Models of {count} log{'s' * (count != 1)} were drawn from, too." if count else ""
    return (
        f"{said['traces']} traces of {said['jobs']:,} jobs, and as many of {said['user jobs']} for each application "
        f"and beta ({seeds(said, said['traces'])}).{logs}"
    )


WORK = Work(lambda said, _: cases(plan_of(said)), report, describe)
