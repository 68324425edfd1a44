"""Runs the same case through the production engine and through the slow reference."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from random import Random

import numpy as np
from hypothesis import strategies as st

from cosched.core.scheduling.policies.backfilling import BACKFILLING
from cosched.core.scheduling.policies.ordering import parse_ordering
from cosched.core.scheduling.pools import Partitions
from cosched.core.scheduling.scheduler import ClusterSettings
from cosched.core.settings import CoschedulingSettings, ReleaseOrder, Scheme
from cosched_sim.domain_setup import DomainSetup
from cosched_sim.engine import Engine
from cosched_sim.federation.batch_world import BatchWorld
from cosched_sim.results.outcomes import domain_result
from cosched_sim.results.result import NEVER_STARTED, STATES, ReplayResult
from cosched_sim.workload.jobs import UNKNOWN, Workload
from cosched_sim.workload.pairing import Group, Pairing
from cosched_sim.workload.traces import clean, machine_nodes, read_trace
from tests.reference import RefDomain, RefJob, RefOutcome
from tests.reference.meet_cases import URGENT

Pairs = Sequence[tuple[tuple[str, int], tuple[str, int]]]
Groups = Mapping[str, Sequence[tuple[str, int]]]  # of more than two jobs, or with windows, by name
Windows = Mapping[tuple[str, int], tuple[int, int]]  # of jobs of groups; (0, 0) if not given
Instants = Mapping[str, int]  # of groups, by name

EXPRESSION = "min(wait, 50) * nodes / requested - sqrt(nodes)"


def expression(wait: int, requested: int, nodes: int) -> float:
    """`EXPRESSION`, in Python."""
    return min(float(wait), 50.0) * float(nodes) / float(requested) - float(nodes) ** 0.5


# Production name -> what the reference calls it.
POLICIES = {"fcfs": "fcfs", "wfp": "wfp", "shortest-first": "sjf", "largest-first": "largest", EXPRESSION: expression}
PRODUCTION_NAME = {reference: name for name, reference in POLICIES.items()}
PRODUCTION_NAME[URGENT["policy"]] = "wait + 1000 * max(0, 1 - abs(requested - 99))"


def workload_of(domain: RefDomain) -> Workload:
    """The reference's jobs as arrays, in trace order, sizes rounded up as cleaning does."""
    jobs = sorted(domain.jobs, key=lambda job: job.submit)
    columns = {
        name: np.array([getattr(job, name) for job in jobs], np.int64)
        for name in ("job_id", "submit", "run", "nodes", "requested")
    }
    if domain.layout is not None:
        columns["nodes"] = Partitions(*domain.layout).round_up(columns["nodes"])
    return Workload(source=domain.name, **columns)


def jobs_of(path: Path, number: int | None = None) -> tuple[Workload, int]:
    """The first jobs of a log, or all, from 0 on, and the nodes of its machine."""
    log = read_trace(path)
    nodes = machine_nodes(log)
    work = clean(log, nodes)
    columns = {name: getattr(work, name)[:number] for name in ("job_id", "submit", "run", "nodes", "requested")}
    columns["submit"] = columns["submit"] - np.min(columns["submit"])
    return Workload(source=work.source, **columns), nodes


def ref_domain_of(name: str, work: Workload, nodes: int, **settings: object) -> RefDomain:
    """The reference's domain of a machine with these jobs."""
    columns = (work.job_id, work.submit, work.run, work.requested, work.nodes)
    return RefDomain(name, nodes, [RefJob(*map(int, row)) for row in zip(*columns, strict=True)], **settings)


def setup_of(domain: RefDomain) -> DomainSetup:
    """The reference's domain as the production engine takes it."""
    cluster = ClusterSettings(
        nodes=domain.nodes,
        ordering=parse_ordering(PRODUCTION_NAME[domain.policy]),
        backfilling=BACKFILLING[domain.backfill],
        partitions=Partitions(*domain.layout) if domain.layout else None,
        wanted_first=domain.release_order == "wanted",
        mate_budget=Decimal(domain.mate_budget),
        slots=domain.slots,
    )
    settings = CoschedulingSettings(
        scheme=Scheme(domain.scheme),
        release_interval=domain.release_interval,
        release_jitter=Decimal(domain.release_jitter),
        release_order=ReleaseOrder(domain.release_order),
        max_held_fraction=Decimal(domain.max_held_fraction),
        max_yields=domain.max_yields,
        yield_boost=Decimal(domain.yield_boost),
        slots=domain.slots,
    )
    return DomainSetup(domain.name, workload_of(domain), cluster, settings)


def pairing_of(pairs, setups, groups=None, windows=None, instants=None) -> Pairing:
    """The pairs and groups by domain index and row; names of groups are numbers."""
    index = {setup.name: i for i, setup in enumerate(setups)}
    rows = [{int(job): row for row, job in enumerate(setup.workload.job_id)} for setup in setups]

    def members(jobs: Sequence[tuple[str, int]]) -> list[tuple[int, int]]:
        return sorted((index[name], rows[index[name]][job]) for name, job in jobs)

    def group(name: str, jobs: Sequence[tuple[str, int]]) -> Group:
        of = {(index[job[0]], rows[index[job[0]]][job[1]]): (windows or {}).get(job, (0, 0)) for job in jobs}
        has_windows = any(window != (0, 0) for window in of.values())
        given = tuple(of[member] for member in sorted(of)) if has_windows else ()
        return Group(int(name), tuple(sorted(of)), given, (instants or {}).get(name))

    table = np.array(list(map(members, pairs)), np.int64).reshape(len(pairs), 2, 2)
    large = tuple(group(name, jobs) for name, jobs in (groups or {}).items())
    return Pairing(np.arange(1, len(pairs) + 1), table[:, :, 0], table[:, :, 1], groups=large)


def engine_for(domains, pairs, groups=None, windows=None, instants=None, **options) -> Engine:
    """The production engine for a case, not yet run."""
    setups = [setup_of(domain) for domain in domains]
    return Engine(setups, pairing_of(pairs, setups, groups, windows, instants), **options)


def collected(engine: Engine) -> ReplayResult:
    told = BatchWorld(engine).results
    domains = {
        setup.name: domain_result(
            told(setup.name, engine.now), None, setup.cluster.nodes, setup.workload, engine.pairing, index, engine.now
        )
        for index, setup in enumerate(engine.domains)
    }
    return ReplayResult(domains, engine.pairing, engine.stalled, None, {})


def outcomes(engine: Engine) -> dict[tuple[str, int], RefOutcome]:
    """What came of every job, in the reference's form."""
    result = collected(engine)
    return {
        (name, int(domain.workload.job_id[row])): outcome_of(domain.jobs, row)
        for name, domain in result.domains.items()
        for row in range(len(domain.workload))
    }


def run_production(domains, pairs, groups=None, windows=None, instants=None) -> dict[tuple[str, int], RefOutcome]:
    engine = engine_for(domains, pairs, groups, windows, instants)
    engine.run()
    return outcomes(engine)


def outcome_of(jobs, row: int) -> RefOutcome:
    times = [None if (value := int(column[row])) == UNKNOWN else value for column in (jobs.ready, jobs.start, jobs.end)]
    counts = [int(column[row]) for column in (jobs.holds, jobs.yields, jobs.held_node_seconds)]
    return RefOutcome(*times, *counts, STATES.get(int(jobs.state[row]), NEVER_STARTED))


# Small cases that hypothesis makes and shrinks.

UNITS = 8


def ref_jobs(max_jobs: int, max_nodes: int = UNITS) -> st.SearchStrategy[list[RefJob]]:
    """Half of `max_jobs` to all of them, many submitted close together or at one instant; four bytes make a job."""
    return st.binary(min_size=4 * (max_jobs // 2), max_size=4 * max_jobs).map(lambda data: _jobs(data, max_nodes))


def some_jobs(rng: Random, max_jobs: int) -> list[RefJob]:
    """As `ref_jobs`, drawn."""
    return _jobs(rng.randbytes(4 * rng.randint(max_jobs // 2, max_jobs)), UNITS)


def _jobs(data: bytes, max_nodes: int) -> list[RefJob]:
    jobs = []
    for i in range(len(data) // 4):
        submit, run, more, nodes = data[4 * i : 4 * i + 4]
        jobs.append(RefJob(i + 1, submit % 41, 1 + run % 30, 1 + run % 30 + more % 31, 1 + nodes % max_nodes))
    return jobs


def some_pairs(rng: Random, domains: Sequence[RefDomain], most: int) -> list[tuple[tuple[str, int], tuple[str, int]]]:
    """Pairs between jobs of any two domains, each job in one at most."""
    free = {domain.name: [job.job_id for job in domain.jobs] for domain in domains}
    pairs = []
    for _ in range(rng.randint(1, most)):
        names = [name for name, ids in free.items() if ids]
        if len(names) < 2:
            break
        pairs.append(tuple((name, free[name].pop(rng.randrange(len(free[name])))) for name in rng.sample(names, 2)))
    return pairs


CHOICES = {
    "policy": [*POLICIES.values()], "backfill": ["easy", "easy", "conservative", "none"],
    "layout": [None, None, (UNITS, 1)], "release_interval": [7, 20, 60], "release_jitter": ["0", "0.25", "1"],
    "max_held_fraction": ["0.3", "0.5", "1"], "max_yields": [0, 0, 1, 3], "yield_boost": ["0", "0", "0.5"],
}  # fmt: skip


def ref_domain(rng: Random, name: str, jobs: list[RefJob], **fixed: object) -> RefDomain:
    """A domain with settings of all kinds but those `fixed`."""
    settings = {key: rng.choice(values) for key, values in CHOICES.items() if key not in fixed}
    return RefDomain(name, UNITS, jobs, **settings, **fixed)
