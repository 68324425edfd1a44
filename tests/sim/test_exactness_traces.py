"""On whole real and model traces the compiled path and the slow reference agree for every job."""

import pytest

from tests.reference import simulate
from tests.sim.exact import jobs_of, ref_domain_of, run_production
from tests.tiers import soaked

TRACES = ["lublin_256_new2", "KTH-SP2-1996-2", "ANL-Mira-2018", "CTC-SP2-1996-3.1-cln.nowait"]


@pytest.mark.parametrize("policy", ["fcfs", "wfp"])
@pytest.mark.parametrize("trace", soaked(TRACES, 1))
def test_every_job_of_the_trace_starts_as_in_the_reference(traces, trace, policy):
    domain = ref_domain_of("A", *jobs_of(traces / f"{trace}.swf.gz"), policy=policy, backfill="easy")
    assert run_production([domain], []) == simulate([domain], [])
