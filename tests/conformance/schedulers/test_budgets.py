"""What an event costs in each kind of scheduler: see `cosched.conformance`."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cosched.conformance.schedulers.subject import Subject
from cosched.conformance.schedulers.test_budgets import check, job, test_twice_the_jobs_cost_in_proportion
from cosched.core.scheduling.scheduler import OpenScheduler
from cosched_papers.heterogeneous.jobs import Classed, Priority
from tests.conformance.schedulers.kinds import HETEROGENEOUS_SETTINGS, SUBJECTS

__all__ = ["test_twice_the_jobs_cost_in_proportion"]
ALIKE = ("batch-easy-part", "batch-cons", "batch-none", "fluid-")  # settings of kernels alone: one of each will do
KINDS = [name for name in SUBJECTS if not name.startswith(ALIKE)] + ["fluid-even", "fluid-even-slots"]
URGENT = [name for kind in HETEROGENEOUS_SETTINGS if (name := f"heterogeneous-{kind}") in SUBJECTS]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Leave out settings that are alike."""
    if "subject" in metafunc.fixturenames:
        metafunc.parametrize("subject", [SUBJECTS[name] for name in KINDS], ids=KINDS)


@pytest.mark.parametrize("name", URGENT)
def test_a_job_of_high_priority_costs_in_proportion_to_those_of_low_priority(name):
    of_size = SUBJECTS[name].of_size
    subject = replace(SUBJECTS[name], of_size=lambda nodes: replace(of_size(nodes), priority=Priority.LOW))

    def submit(scheduler: OpenScheduler) -> None:
        urgent: Subject = replace(subject, of_size=lambda nodes: Classed(str(nodes), Priority.HIGH))
        scheduler.submit(job(urgent, scheduler, 10_001, 2))

    check(subject, {"an urgent one": submit})
