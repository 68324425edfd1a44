"""A workload of the suite, read and simulated by slow, obvious code that shares nothing with `cosched` or `sim`."""

import csv
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from tests.reference import RefDomain, RefJob, RefOutcome, simulate

POLICIES = {"shortest-first": "sjf", "largest-first": "largest"}
LAST_INSTANT = 20_000  # every workload that ends has ended long before
COSCHEDULING = ("release_interval", "release_order", "max_yields", "slots")
EXACT = ("release_jitter", "max_held_fraction", "yield_boost", "mate_budget")

Schedule = dict[tuple[str, int], RefOutcome]


class Line(NamedTuple):
    """What matters of an SWF line."""

    job_id: int
    submit: int
    run: int
    allocated: int
    procs: int
    requested: int
    status: int


@dataclass
class Case:
    """A workload as the slow simulator takes it."""

    domains: list[RefDomain]
    pairs: list[tuple[tuple[str, int], tuple[str, int]]]


def read_lines(path: Path) -> list[Line]:
    rows = [text.split() for text in path.read_text().splitlines() if text.strip() and not text.startswith(";")]
    assert all(len(row) == 18 for row in rows), path
    return [Line(*(int(row[n - 1]) for n in (1, 2, 4, 5, 8, 9, 11))) for row in rows]


def read_case(folder: Path) -> Case:
    settings = tomllib.loads((folder / "replay.toml").read_text())
    domains = [read_domain(folder, table, settings.get("overrun", "extend")) for table in settings["domain"]]
    return Case(domains, list(read_pairs(folder, settings, domains)))


def read_domain(folder: Path, table: dict[str, Any], overrun: str) -> RefDomain:
    jobs = clean(read_lines(folder / table["trace"]), table["nodes"], table.get("procs_per_node", 1), overrun)
    domain = RefDomain(table["name"], table["nodes"], jobs, scheme=table.get("scheme", "hold"))
    domain.policy = POLICIES.get(table["policy"], table["policy"])
    domain.backfill = table["backfill"]
    kind, _, shape = table.get("node_pool", "flat").partition(":")
    if kind == "partitioned":
        domain.layout = tuple(int(number) for number in shape.split("x"))
    for key in COSCHEDULING:
        setattr(domain, key, table.get(key, getattr(domain, key)))
    for key in EXACT:
        setattr(domain, key, str(table.get(key, getattr(domain, key))))
    return domain


def clean(lines: list[Line], nodes: int, procs_per_node: int, overrun: str) -> list[RefJob]:
    """scheduling.md, Traces: what is left out, and what an unknown value means."""
    jobs: list[RefJob] = []
    seen = set()
    for line in lines:
        procs = line.procs if line.procs > 0 else line.allocated
        size = -(-procs // procs_per_node)
        fits = line.run > 0 and 1 <= size <= nodes and line.submit >= 0
        if fits and line.job_id not in seen:
            run, requested = times(line, overrun)
            jobs.append(RefJob(line.job_id, line.submit, run, requested, size))
        seen.add(line.job_id)
    return jobs


def times(line: Line, overrun: str) -> tuple[int, int]:
    requested = line.requested if line.requested > 0 else line.run
    if overrun == "kill":
        return min(line.run, requested), requested
    return line.run, max(line.run, requested)


def read_pairs(folder: Path, settings: dict[str, Any], domains: list[RefDomain]):
    if "pairs" not in settings:
        return
    there = {(domain.name, job.job_id) for domain in domains for job in domain.jobs}
    with (folder / settings["pairs"]).open() as stream:
        for row in csv.DictReader(stream):
            one, other = ((name, int(job_id)) for name, job_id in row.items())
            if {one, other} <= there:
                yield one, other


def schedule(case: Case) -> Schedule:
    return simulate(case.domains, case.pairs, max_time=LAST_INSTANT)
