"""The study: what it compares, its sections and first sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cosched_papers.studies.collins2001 import setup
from cosched_papers.studies.collins2001.claims import claims
from cosched_papers.studies.collins2001.comparisons import on_arrival, saving, statements
from cosched_papers.studies.collins2001.figures import paper_figures
from cosched_papers.studies.collins2001.measuring import (
    COMPLETION,
    MAKESPAN,
    NEXT,
    PREEMPTED,
    PRIORITIES,
    RATIO,
    SHARE,
    TIME,
    measures,
    of_priority,
)
from cosched_papers.studies.collins2001.site import HOUSE, TABLES
from cosched_sim.reports.page import Section, Table
from cosched_sim.studies.design import Asked, Design, Experiment, Found, comparisons_section
from cosched_sim.studies.measured import ratio
from cosched_sim.studies.paper import Beside
from cosched_sim.studies.study import Said, seeds, words_of
from cosched_sim.studies.tables import cell

WORDS = words_of(__file__)
SHOWN = (TIME, *(of_priority(name, TIME) for name in PRIORITIES), SHARE, PREEMPTED, RATIO, COMPLETION, MAKESPAN)


def replications(said: Said) -> str:
    """Say in a sentence what was replicated."""
    count = said["replications"]
    tables = min(count, setup.TABLE_REPLICATIONS)
    return f"Replications: {count} ({seeds(said, count)}), each with other times and arrivals; {tables} of the tables."


def compared(experiment: Experiment) -> Asked:
    """Compare PJS with SJS on the same jobs (studies 2, 3), and jobs with and without priorities (4)."""
    number, table, priorities = experiment.name.split() if experiment.name[0] in "234" else ("", "", "")
    for place in experiment.places if number else ():
        if number == "4" and priorities != setup.NONE:
            yield place, setup.at(4, table, setup.NONE, int(place[1]), setup.PJS), TIME
        elif number != "4" and place[2] != setup.SJS:
            yield place, (*place[:2], setup.SJS), TIME


def values(found: Found) -> Mapping[str, object]:
    """Return what the first sentences tell."""
    told = {f"{table}_{jobs}": saving(found, table, jobs) for table in TABLES for jobs in (5, 20, 50)}
    told |= {f"next_{jobs}": saving(found, HOUSE, jobs, NEXT) for jobs in (20, 50)}
    for priority in (PRIORITIES[0], PRIORITIES[-1]):
        told[priority] = on_arrival(found, HOUSE, setup.FEW, setup.RATES[-1], priority)
    return {name: cell(value) for name, value in told.items()}


def what_decides(found: Found) -> Table:
    """Return the savings of study 2 by table, with and without going on."""
    rows = [
        [f"{jobs}", *(cell(saving(found, table, jobs, of)) for table in TABLES for of in (setup.PJS, NEXT))]
        for jobs in setup.LOADS
    ]  # fmt: skip
    heads = ["Jobs", *(f"{table}, {of}" for table in TABLES for of in ("on_failure=stop", "on_failure=next"))]
    return Table("Less job time than SJS (%)", "", heads, rows)


def on_tables(found: Found) -> Iterator[Table]:
    """Yield by kind of table what each algorithm has beside SJS, on the same tables."""
    tables = next(each for each in found.experiments if each.name == setup.ON_TABLES)
    for measure, title in ((COMPLETION, "Sum of completions"), (MAKESPAN, "Makespan")):
        rows = []
        for point in tables.points:
            base = ((setup.ON_TABLES, point, setup.SJS), measure)
            ratios = (ratio(found, ((setup.ON_TABLES, point, of), measure), base) for of in setup.ALGORITHMS)
            rows.append([tables.label(point), *map(cell, ratios)])
        yield Table(f"{title} / that of SJS", "", ["Table", *setup.ALGORITHMS], rows)


def sections(found: Found) -> Iterator[Section]:
    """Yield the figures, what decides, the tables and the comparisons."""
    yield Section("Figures 3 to 9", WORDS["figures"], paper_figures(found))
    decides = what_decides(found)
    title = "What decides, and what does not come out" if found.conclusive else decides.title
    yield Section(title, WORDS["why"] * found.conclusive, tables=[decides])
    yield Section("Nine algorithms on the usual tables", WORDS["algorithms"], tables=list(on_tables(found)))
    heads = "Experiment", "Algorithm", "Beside"
    yield comparisons_section(
        found, *heads, beside=lambda of: of.other[2] if of.place[0] == of.other[0] else setup.NONE
    )


WORK = Design(
    words=WORDS, experiments=setup.experiments, measure=measures, measures=SHOWN, compared=compared, values=values,
    sections=sections, paper=lambda found: Beside.of("5", statements(), claims(), found), places="Algorithms",
    replicated=replications,
).work  # fmt: skip
