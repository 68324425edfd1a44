"""The study's tables beyond the paper's numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cosched_papers.studies.barsanti2006 import setup
from cosched_papers.studies.barsanti2006.comparisons import PAPERS_SEEDS, of, of_first, statements
from cosched_papers.studies.barsanti2006.measuring import (
    CLASSES,
    EXPANDED,
    LOAD,
    RESPONSE,
    SHRUNK,
    SLOWDOWN,
    UTILISATION,
    WAIT,
    of_class,
)
from cosched_sim.reports.page import Cell, Table
from cosched_sim.studies.design import Experiment, Found
from cosched_sim.studies.measured import Place, less
from cosched_sim.studies.paper import compare
from cosched_sim.studies.tables import cell, headed, means_table
from cosched_sim.studies.verdicts import GOOD

SHOWN = (RESPONSE, *(of_class(name, RESPONSE) for name in CLASSES), WAIT, SLOWDOWN, UTILISATION, SHRUNK, EXPANDED)


def of_four_seeds(found: Found) -> Table:
    """Return the paper's numbers beside ours of the first four seeds."""
    first = of_first(found, PAPERS_SEEDS)
    rows: list[list[str | Cell]] = []
    for statement in statements():
        four, all_of_them = compare(statement, first), compare(statement, found)
        verdicts = [Cell(each.agrees, GOOD.get(each.agrees)) for each in (four, all_of_them)]
        rows.append([statement.what, statement.said, four.ours, verdicts[0], all_of_them.ours, verdicts[1]])
    heads = ["What", "Paper", f"Ours, {PAPERS_SEEDS} seeds", "Agrees", "Ours, all seeds", "Agrees"]
    return Table(f"{PAPERS_SEEDS} seeds, as in the paper, and all", "", heads, rows, words=True)


def what_decides(found: Found) -> Table:
    """Return how responses differ from those of the traditional scheduler under W1, by what is changed."""
    places: list[tuple[str, Place]] = [(name, (setup.W1, setup.ALPHA_1, name)) for name in setup.ALL[1:]]
    places += [(name, (setup.LIMITS, setup.ALPHA_1, name)) for name in setup.OF_LIMITS]
    places += [
        (f"{name}, {100 * share:g} % moldable", (setup.SHARE, share, name))
        for name in setup.OF_PAPER[1:] for share in setup.SHARES
    ]  # fmt: skip
    rows = []
    for name, where in places:
        shorter = [less(found, (where, measure), of(setup.W1, setup.TRADITIONAL, measure)) for measure in BESIDE]
        rows.append([name, str(found.count(where)), cell(found.mean(where, RESPONSE)), *map(cell, shorter)])
    heads = ["Scheduler", "Seeds", "Response (h)", *(f"{measure}: less (%)" for measure in BESIDE)]
    return Table("W1 beside the traditional scheduler, on the same jobs", "", heads, rows)


BESIDE = (RESPONSE, "long response", WAIT, SLOWDOWN)


def means_tables(found: Found, experiments: Iterable[Experiment]) -> Iterator[Table]:
    """Yield the means of each experiment; those of one place a scheduler say no point."""
    for each in experiments:
        several = len(each.points) > 1
        heads = headed(*[each.axis] * several, "scheduler", *_units(SHOWN))
        rows = (([*[each.label(at[1])] * several, at[2]], at) for at in each.places)
        yield means_table(found, each.title, heads, rows, SHOWN)


def of_logs(found: Found) -> Iterator[Table]:
    """Yield the means of each real log, with its load and its windows."""
    for log, each in zip(found.said["windows"], of_real_logs(found), strict=True):
        load = found.mean(next(each.places), LOAD)
        windows = f"{len(log['files'])} windows of {log['jobs']:,} jobs"
        title = f"{log['name']}: {log['nodes']} nodes, {windows}, load {load} %"
        rows = (([at[2]], at) for at in each.places)
        yield means_table(found, title, headed("scheduler", *_units(SHOWN)), rows, SHOWN)


def of_real_logs(found: Found) -> list[Experiment]:
    """Return the experiments on real logs."""
    return [each for each in found.experiments if each.name.startswith(setup.LOGS)]


def _units(measures: Iterable[str]) -> list[str]:
    units = {SLOWDOWN: "", **dict.fromkeys((UTILISATION, SHRUNK, EXPANDED), " (%)")}
    return [name + units.get(name, " (h)") for name in measures]
