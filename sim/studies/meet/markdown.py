"""The study's results as a page in Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from cosched.quantities import count as counted
from cosched.sim.studies.means import MeansTable, in_markdown
from cosched.sim.studies.measured import LEAST
from cosched.sim.studies.meet.asked import Figure
from cosched.sim.studies.meet.ideas import told as ideas_told
from cosched.sim.studies.meet.ideas import tried
from cosched.sim.studies.meet.results import Results
from cosched.sim.studies.meet.schemes import MEANING
from cosched.sim.studies.meet.tables import (
    asked_table,
    counts_table,
    fairness_tables,
    ideas_table,
    means_tables,
)

SETUP = (
    "Section V of Tang et al., Job Coscheduling on Coupled High-End Computing Systems (2011): WFP and EASY "
    "backfilling, holds of at most 20 minutes, and the whole machine may be held; pairs are jobs submitted within two "
    "minutes, or a share of Intrepid's jobs. All combinations see the same jobs in a replication."
)
WORDS = (
    "Times are in minutes. The wait of a pair is from its later submission to its start; without coscheduling, to the "
    "start of the mate that starts last. A job without a mate loses or wins if it waits at least a minute longer or "
    "shorter than without coscheduling. Held node-time is in per cent of all."
)
METHOD = (
    "Compared are places with {least} replications or more. Differences are those between replays of the same jobs, "
    "with Student's intervals over the replications. They are corrected for their number by Bonferroni: with {count:,} "
    "comparisons each interval has a level of 1 - 0.05 / {count:,}, so that all of them hold together in at least 95 % "
    "of studies. A comparison is better or worse if its interval leaves out 0, and else open. Of every measure less is "
    "better. Means in tables have intervals of their own, at 95 %."
)
REACHED = (
    '"Within ±": the mean misses what was asked, but its interval, of 95 % on its own, reaches it. "Beside" are '
    "differences on the same jobs."
)
FEWER = "Where there are fewer replications only means are shown, and nothing is decided."


def results_in_markdown(said: dict[str, Any], results: Results, figures: Sequence[Figure], told: Sequence[str]) -> str:
    """Return the content of results.md."""
    return "\n".join(_lines(said, results, figures, told)) + "\n"


def replications(said: dict[str, Any]) -> str:
    """Say in sentences what was replicated."""
    count, further, days = said["replications"], said["further"], f"{said['days']:g}"
    seeds = f"seeds {said['seed']} to {said['seed'] + count - 1}" if count > 1 else f"seed {said['seed']}"
    counts = f"{count} by Eureka's load, {further} of all else" if further != count else f"{count}"
    text = f"Replications: {counts}. Months of {days} days are generated ({seeds})."
    if said["windows"]:
        listed = "; ".join(f"{windows['name']}, {counted(windows['count'], 'window')}" for windows in said["windows"])
        text += f" Real logs give windows of the same length, as many as do not overlap, at most {further}: {listed}."
    return text


def _lines(said: dict[str, Any], results: Results, figures: Sequence[Figure], told: Sequence[str]) -> Iterator[str]:
    yield from ("# Meet beside hold and yield", "")
    yield f"Written by `cosched study meet`, version {said['version']}. {replications(said)}"
    yield from ("", SETUP, "", MEANING, "", WORDS, "", "## Verdict", "")
    for paragraph in told:
        yield from (paragraph, "")
    if min(said["replications"], said["further"]) < LEAST:
        yield from (FEWER, "")
    yield from ("## Asked and measured", "", REACHED, "")
    yield from in_markdown(asked_table(figures))
    yield "## Comparisons"
    yield from ("", METHOD.format(count=len(results.comparisons), least=LEAST), "")
    yield from in_markdown(counts_table(results))
    for table in means_tables(results):
        yield from _table(table)
    for table in fairness_tables(results):
        yield from _table(table)
    if found := tried(said, results):
        table = ideas_table(found)
        yield from (f"## {table.title}", "", ideas_told(found), "")
        yield from in_markdown(table)


def _table(table: MeansTable) -> Iterator[str]:
    yield from (f"## {table.title}", "")
    yield from in_markdown(table)
