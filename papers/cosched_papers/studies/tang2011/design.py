"""The study: what its options say, its sections, and its first sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from polars import DataFrame

from cosched.words.errors import InputError
from cosched_papers.studies.tang2011 import setup, tables
from cosched_papers.studies.tang2011.cases import ALIKE, BY_LOAD, cases
from cosched_papers.studies.tang2011.claims import claims
from cosched_papers.studies.tang2011.comparisons import averaged, statements
from cosched_papers.studies.tang2011.deadlocks import synchronised_cases
from cosched_papers.studies.tang2011.figures import paper_figures, sensitivity_figure
from cosched_papers.studies.tang2011.logs import LogMonths, cut_months, read_log, windows_overlap
from cosched_papers.studies.tang2011.results import EXTRA, LOSS_SHARE, PAIRED, SYNC, WAIT, Results
from cosched_papers.studies.tang2011.sensitivity import sensitivities
from cosched_sim.configuration import replay_config
from cosched_sim.replaying import read_machine
from cosched_sim.reports.page import Section, Tile
from cosched_sim.results.estimate import Estimate, signed
from cosched_sim.studies.measured import average
from cosched_sim.studies.paper import Beside
from cosched_sim.studies.report import Report, sections_in_markdown
from cosched_sim.studies.study import Said, Told, Work, seeds, words_of
from cosched_sim.studies.verdicts import inconclusive, spread

LOGS = "logs"  # a folder in the study's folder
LEAST_SYNC_MIN = 35  # Fig. 5(b): the least sync time of Eureka's jobs where it holds
WORDS = words_of(__file__)
PAPER = WORDS["paper"]


def describe(said: Said, given: Mapping[str, Any], folder: Path, told: Told) -> Said:
    """Write the windows of real logs, and add the logs, facts of the set-up, and notes; InputError, OSError.

    There are fewer replications than wished for if a log is short.
    """
    logs = {machine: given[machine] for machine in setup.MACHINES if given[machine] is not None}
    if len(logs) == 1:
        there, missing = sorted(setup.MACHINES, key=logs.__contains__, reverse=True)
        raise InputError(f"--{missing}", None, f"missing: --{there} needs it")
    months = setup.GeneratedMonths()
    notes = []
    count, days = said["replications"], said["days"]
    if logs:
        told.step("cutting the logs ...")
        read = [read_log(f"--{machine}", logs[machine], told.say) for machine in setup.MACHINES]
        months, count = cut_months(read, count, days, folder / LOGS)
        if count < said["replications"]:
            notes.append(f"The log of Intrepid is no longer than {days:g} days: one replication, and no intervals.")
        elif windows_overlap(read, count, days):
            notes.append("The windows of the replications overlap: the intervals are too narrow.")
    for note in notes:
        told.say(note)
    plan = setup.Plan(count, said["seed"], said["quick"], days, months)
    logs_said = {machine: dict(settings) for machine, settings in logs.items()}
    return {**said, "replications": count, "logs": logs_said, "facts": _facts(plan), "notes": notes}


def _facts(plan: setup.Plan) -> dict[str, float]:
    """Return facts of the set-up, and the sizes of machines and jobs over all months of V-D."""
    facts: dict[str, float] = {
        "release interval": setup.RELEASE_MIN,
        "pair window": setup.WINDOW_S / 60,
        "replications": plan.replications,
    }
    for replication in range(1, plan.replications + 1):
        for load in setup.LOADS:
            _add_sizes(facts, plan.by_load(setup.BASE, load, replication))
    return facts


def _add_sizes(facts: dict[str, float], settings: setup.Settings) -> None:
    config = replay_config("study", settings)
    for domain in config.domains:
        jobs, facts[f"{domain.name} nodes"] = read_machine(domain, config)
        for name, choose in (("smallest", min), ("largest", max)):
            here = int(choose(jobs.nodes))
            facts[f"{domain.name} {name}"] = choose(here, facts.get(f"{domain.name} {name}", here))


def plan_of(said: Said, folder: Path) -> setup.Plan:
    """Return the plan that study.json describes."""
    months = setup.GeneratedMonths()
    if said["logs"]:
        nodes = tuple(said["facts"][f"{machine} nodes"] for machine in setup.MACHINES)
        months = LogMonths((folder / LOGS).resolve(), (nodes[0], nodes[1]))
    return setup.Plan(said["replications"], said["seed"], said["quick"], said["days"], months)


def report(said: Said, folder: Path, rows: DataFrame) -> Report:
    """Return what was found."""
    results = Results.of(rows, said["days"], sensitivities(plan_of(said, folder)), said["facts"])
    conclusive = not inconclusive(said, said["replications"])
    beside = Beside.of("V", statements(), claims(), results, generated=not said["logs"], conclusive=conclusive)
    replicated, missing = _replications(said), WORDS["quick"] * said["quick"]
    (numbers, held), riddle = beside.sections(), list(_riddle(results, conclusive))
    properties = list(_properties(results, conclusive))
    return Report(
        said=said,
        count=said["replications"],
        title="Job coscheduling on coupled systems",
        subtitle=f"{PAPER}, carried out again",
        first=_first(results, beside.score),
        facts=list(_page_facts(said, results)),
        tiles=[*_tiles(results), *beside.tiles],
        sections=[*riddle, numbers, held, *_experiments(said["days"], results), *properties, _sensitivity(results)],
        markdown=[
            *(f"{PAPER}. {replicated}", "", *([missing, ""] if missing else [])),
            *sections_in_markdown([*riddle, numbers, *properties, held]),
        ],
        tables=[
            *beside.tables,
            ("averages", results.means),
            ("deadlocks", tables.deadlocks_table(results)),
            ("release-order", tables.release_order_table(results)),
            *((f"sensitivity-{of.name}", tables.sensitivity_table(results, of)) for of in results.sensitivities),
        ],
        told=[replicated, "", *beside.told, *filter(None, [missing])],
        failed=results.failed,
        files=("every number and claim of the paper beside ours, all figures", "the same, and more, as CSV"),
    )


def _first(results: Results, score: str) -> list[str]:
    """Return the five sentences."""
    pairs, together, _ = _pairs(results)
    values: dict[str, object] = {of: _range(results, BY_LOAD, f"{of} {WAIT}{EXTRA}") for of in setup.MACHINES}
    for machine in setup.MACHINES:
        values[f"lost_{machine}"] = average(results, averaged(BY_LOAD, setup.LOADS, machine, LOSS_SHARE, ("HH",)))
    share, alike = _paired(results), _range(results, ALIKE, f"eureka {WAIT}{EXTRA}")
    sync = average(results, averaged(BY_LOAD, setup.LOADS, "eureka", SYNC))
    values |= {"pairs": f"{pairs:,}", "together": f"{together:,}", "score": score, "sync": sync}
    values |= {"share": share, "least": f"{LEAST_SYNC_MIN}", "grows": share and share.times(LEAST_SYNC_MIN / 100)}
    values["reading"] = WORDS["reading"].format(alike=alike) if alike else ""
    return [sentence.format(**values) for sentence in WORDS["first"]]


def _pairs(results: Results) -> tuple[int, int, int]:
    """Return how many pairs there are, how many start together, and in how many cases."""
    rows = synchronised_cases(results)
    return int(rows["pairs.pairs"].sum()), int(rows["pairs.together"].sum()), len(rows)


def _range(results: Results, experiment: str, measure: str) -> str:
    """Return the least and the greatest mean over loads and schemes; empty without any."""
    means = list(results.means_of(experiment, setup.LOADS, setup.SCHEMES, measure).values())
    return spread(means) if means else ""


def _paired(results: Results) -> Estimate | None:
    """Return the share of Eureka's jobs that two minutes pair, in per cent."""
    return average(results, averaged(BY_LOAD, setup.LOADS, "eureka", PAIRED, (setup.BASE,)))


def _replications(said: Said) -> str:
    """Say in a sentence what was replicated."""
    count, days = said["replications"], f"{said['days']:g}"
    times = f"{count} replications" if count > 1 else "One replication, so without intervals"
    if said["logs"]:
        logs = " and ".join(f"{log['trace']} as {machine.capitalize()}" for machine, log in said["logs"].items())
        return " ".join([f"{times}: windows of {days} days of the logs {logs}.", *said["notes"]])
    return f"{times} of generated months of {days} days ({seeds(said, count)})."


def _page_facts(said: Said, results: Results) -> Iterator[tuple[str, str]]:
    yield "Set-up", WORDS["setup"]
    yield "Workloads", _replications(said)
    if said["quick"]:
        yield "Left out", WORDS["quick"]
    failed = f", of which {results.failed} failed" if results.failed else ""
    yield "Cases", f"{results.rows['case'].n_unique():,}{failed}"


def _tiles(results: Results) -> Iterator[Tile]:
    pairs, together, count = _pairs(results)
    note = f"{together:,} of {pairs:,} in {count} cases"
    yield Tile(f"{together / max(pairs, 1):.0%}", "of pairs start together", note)
    for load, said in ((0.5, "below 10"), (0.75, "42")):
        found = results.means_of(BY_LOAD, (load,), setup.SCHEMES, f"intrepid {WAIT}{EXTRA}")
        if found:
            most = max(found.values(), key=lambda value: value.mean)
            yield Tile(f"{signed(most)} min", f"most on Intrepid at {load:g}", f"paper: {said} min")


def _experiments(days: float, results: Results) -> Iterator[Section]:
    note = "Jobs that never start: means of the deadlocked runs"
    deadlocks = tables.shown_table("Deadlocks of hold-hold", note, tables.deadlocks_table(results))
    yield Section("V-B: deadlocks and the release timer", tables=[deadlocks])
    figures = paper_figures(results, days)
    yield Section("V-D: by the load of Eureka", WORDS["differences"], figures[:4])
    yield Section("V-E: by the share of paired jobs", "", figures[4:])
    order = tables.shown_table("Released jobs last, as in the paper, and ours", "", tables.release_order_table(results))
    yield Section("The paper's release order", WORDS["release_order"], tables=[order])


def _riddle(results: Results, conclusive: bool) -> Iterator[Section]:
    """Yield why Eureka waits longer here than in the paper; real logs have their own properties."""
    if alike := _range(results, ALIKE, f"eureka {WAIT}{EXTRA}"):
        ours = _range(results, BY_LOAD, f"eureka {WAIT}{EXTRA}")
        made = {
            ("Eureka's extra wait (min), by the reading of the 5 to 10 %", ""): tables.alike_table(results),
            ("Eureka in V-D at a load of 0.5, by a property of its month", "Minutes"): tables.riddle_table(results),
        }
        shown = [tables.shown_table(*words, table) for words, table in made.items()]
        figures = [sensitivity_figure(results, each) for each in results.sensitivities if each.riddle]
        text = WORDS["riddle"].format(ours=ours, share=_paired(results), alike=alike)
        title = "Why Eureka's jobs wait longer here than in the paper" if conclusive else "Eureka's extra wait"
        yield Section(title, text * conclusive, figures, shown)


def _properties(results: Results, conclusive: bool) -> Iterator[Section]:
    """Yield what the paper does not say of Eureka's month in V-E; real logs have their own properties."""
    table = tables.properties_table(results)
    if len(table):
        figures = [sensitivity_figure(results, each) for each in results.sensitivities if each.share is not None]
        shown = [tables.shown_table("Intrepid in V-E, by a property of Eureka's month", "Minutes", table)]
        text = WORDS["properties"] * conclusive
        yield Section("What section V-E does not say of Eureka's month", text, figures, shown)


def _sensitivity(results: Results) -> Section:
    found = [each for each in results.sensitivities if each.share is None and not each.riddle]
    figures, words = [sensitivity_figure(results, each) for each in found], "Minutes; lost shares in per cent"
    shown = [tables.shown_table(each.title, words, tables.sensitivity_table(results, each)) for each in found]
    return Section("Sensitivity", WORDS["sensitivity"], figures, shown)


WORK = Work(lambda said, folder: cases(plan_of(said, folder)), report, describe)
