"""On whole real and model traces the compiled path and the slow reference agree for every job."""

import pytest

from cosched_sim.workload.traces import clean, machine_nodes, read_trace
from tests.reference import RefDomain, RefJob, simulate
from tests.sim.exact import run_production
from tests.tiers import soaked

TRACES = ["lublin_256_new2", "KTH-SP2-1996-2", "ANL-Mira-2018", "CTC-SP2-1996-3.1-cln.nowait"]


def ref_domain(name: str, path, policy: str) -> RefDomain:
    log = read_trace(path)
    nodes = machine_nodes(log)
    work = clean(log, nodes)
    columns = (work.job_id, work.submit, work.run, work.requested, work.nodes)
    jobs = [RefJob(*map(int, row)) for row in zip(*columns, strict=True)]
    return RefDomain(name, nodes, jobs, policy=policy, backfill="easy")


@pytest.mark.parametrize("policy", ["fcfs", "wfp"])
@pytest.mark.parametrize("trace", soaked(TRACES, 1))
def test_every_job_of_the_trace_starts_as_in_the_reference(traces, trace, policy):
    domain = ref_domain("A", traces / f"{trace}.swf.gz", policy)
    assert run_production([domain], []) == simulate([domain], [])
