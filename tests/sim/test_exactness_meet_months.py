"""Coupled months of generated jobs and pairs of real logs, cut short: pairs meet as in the slow reference."""

from decimal import Decimal

import pytest

from cosched_sim.workload.generate import generate
from cosched_sim.workload.pairing import pairs_by_fraction
from tests.reference import simulate
from tests.sim.exact import jobs_of, ref_domain_of, run_production
from tests.tiers import soaked

INTREPID, EUREKA = 40_960, 100
GENERATED = 300, 9_200  # jobs of the larger domain: a day, and a month
LOGS = [("HPC2N-2002-2.first-alea", "SDSC-SP2-1998.first5000"), ("ANL-Mira-2018", "ANL-Theta-2022-cqsim")]
JOBS = 1_000  # of each log
KINDS = [{"scheme": "meet"}, {"scheme": "yield", "slots": True}, {"scheme": "hold", "mate_budget": "0.5"}]


def check(works, nodes, *kinds):
    zipped = zip("AB", works, nodes, kinds, strict=True)
    domains = [ref_domain_of(name, work, size, policy="wfp", **kind) for name, work, size, kind in zipped]
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
    works, nodes = zip(*(jobs_of(traces / f"{log}.swf.gz", JOBS) for log in logs), strict=True)
    check(works, nodes, *kinds)
