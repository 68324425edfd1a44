"""The report of one replay."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from cosched.schedulers.loading import kind_told_by
from cosched.words.quantities import count, duration, number, percent
from cosched_sim.reports.figures import replay_figures
from cosched_sim.reports.figures.figure import Figure
from cosched_sim.reports.gantt.chart import gantt_chart
from cosched_sim.reports.page import Page, Section, Table, Tile, write_page
from cosched_sim.reports.run import Run, RunDomain, read_run
from cosched_sim.results import wording
from cosched_sim.results.wording import GROUPS, metrics_of
from cosched_sim.workload.traces import REASONS

WAITS = (
    "The wait of a job is from its submission to its start; its slowdown is wait and run time over run time (bounded: "
    "over at least 10 s); the sync time of a paired job is from the instant it was ready to its start. p95 and p99 are "
    "percentiles: 95 or 99 of 100 jobs have at most so much."
)

FIGURES: dict[str, Callable[[Run], list[Figure]]] = {
    "The machines over time": replay_figures.machine_figures,
    "Waits and slowdowns": replay_figures.job_figures,
    "Pairs, holds and yields": replay_figures.coscheduling_figures,
    "What was asked for": replay_figures.workload_figures,
}


def write_report(folder: Path) -> Path:
    """Write the report of the replay in `folder` beside its files; return its path; InputError, OSError."""
    return write_page(replay_page(read_run(folder)), folder)


def replay_page(run: Run) -> Page:
    """Return the page on a replay: what was replayed, the results in numbers and figures, and what was left out."""
    names = [domain.name for domain in run.domains]
    jobs = sum(len(domain.jobs) for domain in run.domains)
    subtitle = f"{count(jobs, 'job')} in {duration(run.last - run.first)}"
    return Page(
        title=f"Replay of {in_words(names)}",
        subtitle=f"{subtitle}; {wording.pairs_line(run.summary['pairs'])}" if run.paired else subtitle,
        command=run.summary["command"],
        version=run.summary["version"],
        facts=list(_facts(run)),
        tiles=list(_tiles(run)),
        sections=list(_sections(run)),
    )


def in_words(names: Sequence[str]) -> str:
    """Join names: `a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _facts(run: Run) -> Iterator[tuple[str, str]]:
    yield from (("Attention", warning) for warning in wording.warnings(run.summary))
    for domain in run.domains:
        said = domain.summary
        paired = f", {said['paired']['jobs']:,} of them paired" if said["paired"]["jobs"] else ""
        machine = wording.heading(domain.name, said).partition(": ")[2]
        line = kind_told_by(said).line(said)
        more = "" if line is None else f"; {line}"
        yield domain.name, f"{machine}; {count(said['jobs'], 'job')}{paired}{more}"
    yield "Seed", str(run.summary["seed"])


def _tiles(run: Run) -> Iterator[Tile]:
    for kind in ("pairs", "groups") if run.paired else ():
        found = run.summary.get(kind)
        if found is not None and found[kind]:
            missed = found[kind] - found["together"]
            note = f"{missed:,} did not start together" if missed else f"all {count(found[kind], kind[:-1])}"
            yield Tile(f"{found['together']:,}", f"{kind} together", note)
    yield _mean_tile(run, "all", "wait_s", "mean wait", duration)
    if run.coscheduled:
        yield _mean_tile(run, "paired", "sync_s", "mean sync time", duration)
        lost = sum(domain.summary["held_node_seconds"] for domain in run.domains)
        yield Tile(f"{lost / 3600:,.0f}", "lost node-hours", _each(run, lambda said: percent(said["held_share"], 2)))
    else:
        yield _mean_tile(run, "all", "slowdown", "mean slowdown", number)
    there = [float(domain.nodes * domain.summary["makespan_s"]) for domain in run.domains]  # node-seconds
    used = sum(of * domain.summary["utilisation"] for domain, of in zip(run.domains, there, strict=True))
    each = _each(run, lambda said: percent(said["utilisation"])) if len(run.domains) > 1 else ""
    yield Tile(percent(used / sum(there) if sum(there) else 0.0), "utilisation", each)


def _mean_tile(run: Run, group: str, metric: str, label: str, form: Callable[[float | None], str]) -> Tile:
    """Return a tile with the mean over the jobs of all domains, and that of each."""
    found = [(domain.summary[group]["jobs"], domain.summary[group][metric]["mean"]) for domain in run.domains]
    known = [(jobs, mean) for jobs, mean in found if mean is not None]
    jobs = sum(jobs for jobs, _ in known)
    mean = sum(jobs * mean for jobs, mean in known) / jobs if jobs else None
    each = _each(run, lambda said: form(said[group][metric]["mean"])) if len(run.domains) > 1 else ""
    return Tile(form(mean) or "–", label, each)


def _each(run: Run, form: Callable[[Mapping[str, Any]], str]) -> str:
    return ", ".join(f"{domain.name} {form(domain.summary) or '–'}" for domain in run.domains)


def _sections(run: Run) -> Iterator[Section]:
    shown = MACHINE_ROWS | (COUPLING_ROWS if run.paired else {})
    rows = [[name, *(form(domain.summary) for domain in run.domains)] for name, form in shown.items()]
    machines = Table("Machines", "", ["", *(domain.name for domain in run.domains)], rows)
    yield Section("Results in numbers", WAITS, tables=[machines, *map(_metrics_table, run.domains)])
    yield Section("Every job", widgets=[gantt_chart(run)])
    for title, figures in FIGURES.items():
        drawn = figures(run)
        if drawn:
            yield Section(title, figures=drawn)
    if run.summary.get("script"):
        yield _script(run)
    yield _left_out(run)


def _script(run: Run) -> Section:
    """Return the section on the what-if events of the replay."""
    rows = [[duration(event["time_s"]), wording.event_words(event)] for event in run.summary["script"]]
    ended = [domain for domain in run.domains if "failed" in domain.summary]
    lost = [f"{domain.name}: {wording.lost_line(domain.summary)}." for domain in ended]
    return Section("What if", " ".join(lost), tables=[Table("Events of the script", "", ["time", "event"], rows)])


Rows = dict[str, Callable[[Mapping[str, Any]], str]]

MACHINE_ROWS: Rows = {
    "nodes": lambda said: f"{said['nodes']:,}",
    "jobs": lambda said: f"{said['jobs']:,}",
    "jobs that never started": lambda said: f"{said['never_started']:,}",
    "utilisation": lambda said: percent(said["utilisation"]),
    "offered load": lambda said: percent(said["offered_load"]) or "–",
    "from the first submission to the last event": lambda said: duration(said["makespan_s"]),
    "waiting jobs, mean": lambda said: number(said["queue_length"]["mean"]),
    "waiting jobs, most": lambda said: f"{said['queue_length']['max']:,}",
}
COUPLING_ROWS: Rows = {
    "jobs with a mate": lambda said: f"{said['paired']['jobs']:,}",
    "holds": lambda said: f"{said['holds']:,}",
    "forced releases": lambda said: f"{said['releases']:,}",
    "yields": lambda said: f"{said['yields']:,}",
    "node-hours lost to holds": lambda said: f"{said['held_node_seconds'] / 3600:,.0f}",
    "share of the machine lost to holds": lambda said: percent(said["held_share"], 2),
}


def _metrics_table(domain: RunDomain) -> Table:
    said = domain.summary
    groups = [group for group in GROUPS if said[group]["jobs"]] if said["paired"]["jobs"] else GROUPS[:1]
    rows = []
    for metric, title in metrics_of(said).items():
        form = duration if metric.endswith("_s") else number
        for group in (group for group in groups if metric != "sync_s" or group == "paired"):
            values = said[group][metric]
            rows.append([f"{title}, {group}", *(form(values[statistic]) or "–" for statistic in wording.STATISTICS)])
    jobs = ", ".join(f"{count(said[group]['jobs'], 'job')} {group}" for group in groups[1:])
    caption = f"{count(said['jobs'], 'job')}{f': {jobs}' if jobs else ''}."
    return Table(f"Jobs of {domain.name}", caption, ["", *wording.STATISTICS], rows)


def _left_out(run: Run) -> Section:
    """Return the section on jobs that were not replayed, and why."""
    said = [domain.summary["rejected"] for domain in run.domains]
    reasons = dict.fromkeys(reason for rejected in said for reason in rejected)
    dropped = count(run.summary["pairs"]["dropped"], "pair")
    pairs = f"Dropped, since a member was left out: {dropped}." if run.summary["pairs"]["dropped"] else ""
    if not reasons:
        return Section("What was left out", f"Every job of the traces was replayed.\n\n{pairs}")
    rows = [[REASONS.get(reason, reason), *(f"{rejected.get(reason, 0):,}" for rejected in said)] for reason in reasons]
    table = Table("Jobs left out", "", ["reason", *(domain.name for domain in run.domains)], rows)
    return Section("What was left out", f"These jobs of the traces cannot be replayed.\n\n{pairs}", tables=[table])
