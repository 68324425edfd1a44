"""Coupled months of generated jobs and pairs of real logs, cut short: pairs meet as in the slow reference."""

from decimal import Decimal

import numpy as np
import pytest

from cosched_sim.workload.generate import generate
from cosched_sim.workload.jobs import Workload
from cosched_sim.workload.pairing import pairs_by_fraction
from cosched_sim.workload.traces import clean, machine_nodes, read_trace
from tests.reference import RefDomain, RefJob, simulate
from tests.sim.exact import run_production
from tests.tiers import soaked

INTREPID, EUREKA = 40_960, 100
GENERATED = 300, 9_200  # jobs of the larger domain: a day, and a month
LOGS = [("HPC2N-2002-2.first-alea", "SDSC-SP2-1998.first5000"), ("ANL-Mira-2018", "ANL-Theta-2022-cqsim")]
JOBS = 1_000  # of each log
KINDS = [{"scheme": "meet"}, {"scheme": "yield", "slots": True}, {"scheme": "hold", "mate_budget": "0.5"}]


def ref_domain(name: str, work: Workload, nodes: int, **kind: object) -> RefDomain:
    columns = (work.job_id, work.submit, work.run, work.requested, work.nodes)
    jobs = [RefJob(*map(int, row)) for row in zip(*columns, strict=True)]
    return RefDomain(name, nodes, jobs, policy="wfp", **kind)


def check(works, nodes, *kinds):
    domains = [
        ref_domain(name, work, size, **kind) for name, work, size, kind in zip("AB", works, nodes, kinds, strict=True)
    ]
    pairing = pairs_by_fraction(works, Decimal("0.2"), 1)
    ids = [[("A", int(works[0].job_id[a])), ("B", int(works[1].job_id[b]))] for a, b in pairing.job]
    assert len(ids) > 10
    assert run_production(domains, ids) == simulate(domains, ids)


@pytest.mark.parametrize("jobs", soaked(GENERATED, 1))
def test_generated_jobs(jobs):
    works = generate("intrepid", jobs=jobs, seed=1), generate("eureka", jobs=jobs // 4, seed=1)
    check(works, (INTREPID, EUREKA), KINDS[0], KINDS[0])


@pytest.mark.parametrize("kinds", [KINDS[:1] * 2, KINDS[1:]], ids=["meet", "mixed"])
@pytest.mark.parametrize("logs", soaked(LOGS, 0), ids=lambda logs: "+".join(logs))
def test_real_logs(traces, logs, kinds):
    works, nodes = zip(*(_first_jobs(traces / f"{log}.swf.gz") for log in logs), strict=True)
    check(works, nodes, *kinds)


def _first_jobs(path) -> tuple[Workload, int]:
    log = read_trace(path)
    nodes = machine_nodes(log)
    work = clean(log, nodes)
    columns = {name: getattr(work, name)[:JOBS] for name in ("job_id", "submit", "run", "nodes", "requested")}
    columns["submit"] = columns["submit"] - np.min(columns["submit"])
    return Workload(source=work.source, **columns), nodes
