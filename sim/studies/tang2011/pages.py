"""The study's page of results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from polars import DataFrame

from cosched.sim.reports.page import Page, Section, Table, Tile
from cosched.sim.studies.statements import Checked, Compared, claims_on_page, numbers_on_page
from cosched.sim.studies.tang2011.cases import BY_LOAD
from cosched.sim.studies.tang2011.figures import paper_figures
from cosched.sim.studies.tang2011.paper.claims import synchronised_cases
from cosched.sim.studies.tang2011.paper.comparison import score_of
from cosched.sim.studies.tang2011.paper.statement import Statement
from cosched.sim.studies.tang2011.results import EXTRA, SLOWDOWN, WAIT, Results
from cosched.sim.studies.tang2011.sensitivity_figures import sensitivity_figure
from cosched.sim.studies.tang2011.setup import BASE, LOADS, MEDIUM, SCHEMES, Plan
from cosched.sim.studies.tang2011.tables import (
    deadlocks_table,
    heads_in_words,
    in_words,
    properties_table,
    release_order_table,
    sensitivity_table,
)
from cosched.sim.studies.tang2011.words import AGREEMENT, PAPER, PROPERTIES, left_out, replications

SETUP = (
    "Section V-A and V-D: WFP and EASY backfilling on both machines, holds of at most 20 minutes without jitter, "
    "the whole machine may be held. V-D: months of Eureka packed into one, so that it makes loads of 0.25, 0.5 "
    "and 0.75; jobs submitted within two minutes of one another are paired. V-E: as many jobs on Eureka as on "
    "Intrepid in the same time, at a load of 0.5; of Intrepid's jobs 2.5, 5, 10, 20 and 33 % are paired."
)
DIFFERENCES = (
    "Differences to the base are differences on the same workload, so that their intervals are those of the paired "
    "comparison. A single month varies far more than most of these differences."
)
SENSITIVITY = (
    "Beyond the paper: one setting at a time, at a medium load of Eureka (0.5), all else as in V-D. While peers "
    "do not reach each other, jobs that become ready start alone."
)
RELEASE_ORDER = (
    "The paper puts released jobs last in the iteration that follows a release. Where many jobs are paired, holds"
    " can then change places for ever; ours also puts the jobs first whose mates are waiting for them. The extra "
    "wait is that of the runs that end, against ours on the same workload."
)


def study_page(
    said: dict[str, Any],
    plan: Plan,
    results: Results,
    numbers: Sequence[Compared[Statement]],
    claims: Sequence[Checked],
) -> Page:
    """Return the whole page."""
    return Page(
        title="Job coscheduling on coupled systems",
        subtitle=f"{PAPER}, carried out again",
        command=said["command"],
        version=said["version"],
        facts=list(_facts(said, results)),
        tiles=list(_tiles(results, numbers, claims)),
        sections=[*_paper(numbers, claims), *_experiments(plan, results), *_properties(results), _sensitivity(results)],
    )


def _facts(said: dict[str, Any], results: Results) -> Iterator[tuple[str, str]]:
    yield "Set-up", SETUP
    yield "Workloads", replications(said)
    if missing := left_out(said):
        yield "Left out", missing
    failed = int(results.cases["error"].is_not_null().sum())
    yield "Cases", f"{results.cases['case'].n_unique():,}" + (f", of which {failed} failed" if failed else "")


def _tiles(results: Results, numbers: Sequence[Compared[Statement]], claims: Sequence[Checked]) -> Iterator[Tile]:
    rows = synchronised_cases(results)
    pairs, together = (int(rows[name].sum()) for name in ("pairs.pairs", "pairs.together"))
    yield Tile(
        f"{together / max(pairs, 1):.0%}", "of pairs start together", f"{together:,} of {pairs:,} in {len(rows)} cases"
    )
    for measure, unit in ((WAIT, " min"), (SLOWDOWN, "")):
        base = results.mean(BY_LOAD, MEDIUM, BASE, f"intrepid {measure}")
        if base is not None:
            paper = "61 min" if measure == WAIT else "6.1"
            yield Tile(
                f"{base.mean:.1f}{unit}", f"base {measure} of Intrepid", f"± {base.half or 0:.1f}; paper: {paper}"
            )
    for load in LOADS[1:]:
        found = results.means_of(BY_LOAD, (load,), SCHEMES, f"intrepid {WAIT}{EXTRA}")
        if found:
            most = max(found.values(), key=lambda value: value.mean)
            paper = {0.5: "below 10", 0.75: "42"}[load]
            yield Tile(
                f"{most.mean:+.1f} min", f"most on Intrepid at {load:g}", f"± {most.half or 0:.1f}; paper: {paper} min"
            )
    scored = score_of(numbers)
    yield Tile(f"{scored.inside} of {scored.all}", "numbers agree", f"{scored.within} more within a wide interval")
    yield Tile(f"{sum(checked.verdict.holds for checked in claims)} of {len(claims)}", "claims hold")


def _paper(numbers: Sequence[Compared[Statement]], claims: Sequence[Checked]) -> Iterator[Section]:
    yield Section(
        "The paper's numbers and ours",
        AGREEMENT,
        tables=[numbers_on_page("Every number that section V states", numbers)],
    )
    yield Section("The paper's claims", tables=[claims_on_page(claims)])


def _experiments(plan: Plan, results: Results) -> Iterator[Section]:
    deadlocks = _table(
        "Deadlocks of hold-hold", "Jobs that never start: means of the deadlocked runs", deadlocks_table(results)
    )
    yield Section("V-B: deadlocks and the release timer", tables=[deadlocks])
    figures = paper_figures(results, plan.days)
    yield Section("V-D: by the load of Eureka", DIFFERENCES, figures[:4])
    yield Section("V-E: by the share of paired jobs", "", figures[4:])
    order = _table("Released jobs last, as in the paper, and ours", "", release_order_table(results))
    yield Section("The paper's release order", RELEASE_ORDER, tables=[order])


def _properties(results: Results) -> Iterator[Section]:
    """Yield what the paper does not say of Eureka's month in V-E; real logs have their own properties."""
    table = properties_table(results)
    if len(table):
        figures = [sensitivity_figure(results, each) for each in results.sensitivities if each.share is not None]
        tables = [_table("Intrepid in V-E, by a property of Eureka's month", "Minutes", table)]
        yield Section("What V-E does not say of Eureka's month", PROPERTIES.replace("**", ""), figures, tables)


def _sensitivity(results: Results) -> Section:
    found = [each for each in results.sensitivities if each.share is None]
    figures = [sensitivity_figure(results, sensitivity) for sensitivity in found]
    tables = [_table(s.title, "Minutes; lost shares in per cent", sensitivity_table(results, s)) for s in found]
    return Section("Sensitivity", SENSITIVITY, figures, tables)


def _table(title: str, caption: str, table: DataFrame) -> Table:
    return Table(title, caption, heads_in_words(table), list(in_words(table)))
