"""What a job of high priority costs a heterogeneous scheduler: see `cosched.conformance`."""

from dataclasses import replace

import pytest

from cosched.conformance.schedulers.subject import Subject
from cosched.conformance.schedulers.test_budgets import check, job
from cosched.core.scheduling.scheduler import OpenScheduler
from cosched_papers.heterogeneous.jobs import Classed, Priority
from tests.conformance.schedulers.kinds import SUBJECTS
from tests.papers.kinds import HETEROGENEOUS_SETTINGS


@pytest.mark.parametrize("name", [f"heterogeneous-{name}" for name in HETEROGENEOUS_SETTINGS])
def test_a_job_of_high_priority_costs_in_proportion_to_those_of_low_priority(name):
    of_size = SUBJECTS[name].of_size
    subject = replace(SUBJECTS[name], of_size=lambda nodes: replace(of_size(nodes), priority=Priority.LOW))

    def submit(scheduler: OpenScheduler) -> None:
        urgent: Subject = replace(subject, of_size=lambda nodes: Classed(str(nodes), Priority.HIGH))
        scheduler.submit(job(urgent, scheduler, 10_001, 2))

    check(subject, {"an urgent one": submit})
