"""The baselines that do not resize are batch schedulers: they agree with the slow model of fluid scheduling."""

import numpy as np
import pytest

from cosched.core.scheduling.policies.backfilling import BACKFILLING
from cosched.core.scheduling.policies.ordering import parse_ordering
from cosched.core.scheduling.scheduler import ClusterSettings
from cosched.core.settings import CoschedulingSettings
from cosched_sim.domain_setup import DomainSetup
from cosched_sim.engine import Engine
from cosched_sim.replaying import NO_PAIRS
from cosched_sim.workload.jobs import Workload
from tests.reference.fluid import Machine
from tests.reference.fluid_workloads import random_case
from tests.tiers import seeds

BACKFILL = {"ideal_only": "none", "ideal_backfill": "conservative", "ideal_easy": "easy"}


@pytest.mark.parametrize("seed", seeds(6, 2000))
@pytest.mark.parametrize("baseline", BACKFILL)
def test_jobs_start_as_in_the_slow_model(seed, baseline):
    """2.2: "arriving application is given its ideal resources; if ideal is not available, application is queued using
    FCFS"; "backfilling will be used to relax FCFS if queue jumping does not delay applications".
    """
    nodes, jobs, rules = random_case(seed, baseline)
    for job in jobs:
        job.parabolic = False
    submit, run, ideal = (np.array([getattr(job, name) for job in jobs]) for name in ("submit", "run", "ideal"))
    work = Workload("ideal", np.arange(len(jobs)), submit, run, ideal, requested=run)
    cluster = ClusterSettings(nodes, parse_ordering("fcfs"), BACKFILLING[BACKFILL[baseline]])
    engine = Engine([DomainSetup("a", work, cluster, CoschedulingSettings())], NO_PAIRS)
    engine.run()
    machine = Machine(nodes, jobs, rules).simulate()
    assert engine.rows(0)["start"].tolist() == [job.start for job in machine.jobs]
