"""The study: what it compares, its sections and first sentences."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cosched_papers.studies.dail2002 import measuring
from cosched_papers.studies.dail2002.claims import claims
from cosched_papers.studies.dail2002.comparisons import mean_degradation, statements
from cosched_papers.studies.dail2002.figures import paper_figures
from cosched_papers.studies.dail2002.real.running import MOMENTS, QUICK_MOMENTS, real_runs
from cosched_papers.studies.dail2002.real.section import real_section
from cosched_papers.studies.dail2002.setup import JACOBI_3, TESTED, experiments
from cosched_sim.reports.page import Section
from cosched_sim.results.output import write_json
from cosched_sim.studies.design import Asked, Design, Experiment, Found
from cosched_sim.studies.design import sections as plain_sections
from cosched_sim.studies.paper import Beside
from cosched_sim.studies.study import Said, Told, seeds, words_of
from cosched_sim.studies.tables import cell

SHOWN = (measuring.TIME, measuring.DEGRADATION, measuring.MACHINES, measuring.ACROSS)
WORDS = words_of(__file__)
REAL = "real.json"


def replications(said: Said) -> str:
    """Say in a sentence what was replicated."""
    count = said["replications"]
    return f"Repetitions of each experiment: {count} ({seeds(said, count)})."


def describe(said: Said, given: Mapping[str, Any], folder: Path, told: Told) -> Said:
    """Add what the real run has found, if it is wanted; one that is continued is not run again. InputError."""
    if not given["real"]:
        return said
    wanted = {"seed": said["seed"], "moments": QUICK_MOMENTS if said["quick"] else MOMENTS}
    path = folder / REAL
    done = json.loads(path.read_text()) if path.exists() else {}
    if {key: done.get(key) for key in wanted} != wanted:
        done = {**wanted, "runs": real_runs(wanted["seed"], wanted["moments"], told.step)}
        folder.mkdir(parents=True, exist_ok=True)
        write_json(path, done)
    return {**said, "real": done}


def compared(experiment: Experiment) -> Asked:
    """Compare the strategies of each of the paper's experiments."""
    for place in experiment.places if experiment.name in TESTED else ():
        for rival in measuring.STRATEGIES[: measuring.STRATEGIES.index(place[2])]:
            yield place, (*place[:2], rival), measuring.TIME


def values(found: Found) -> Mapping[str, object]:
    """Return what the first sentences tell."""
    means = {of: mean_degradation(found, JACOBI_3, of) for of in (measuring.USER, measuring.STATIC, measuring.DYNAMIC)}
    return {of: cell(mean) for of, mean in means.items()}


def sections(found: Found) -> Iterator[Section]:
    """Yield the figures, then means and comparisons."""
    yield Section("Figures 4 to 6", WORDS["figures"], paper_figures(found))
    if found.conclusive:
        yield Section("What does not come out, and why", WORDS["why"])
    if found.said.get("real"):
        yield real_section(found.said["real"]["runs"], WORDS["real"])
    yield from plain_sections(found, SHOWN)


WORK = Design(
    words=WORDS, experiments=experiments, measure=measuring.measures, measures=SHOWN, compared=compared, values=values,
    sections=sections, paper=lambda found: Beside.of("IV", statements(), claims(), found), places="Strategies",
    replicated=replications, describe=describe,
).work  # fmt: skip
