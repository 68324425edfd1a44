"""What a scheduler knows of a job goes with it."""

from __future__ import annotations

import gc
from collections import Counter
from types import FrameType

import pytest

from cosched.conformance.schedulers.test_budgets import crowded, job
from cosched.core.job import JobState
from tests.conformance.schedulers.kinds import SUBJECTS
from tests.conformance.schedulers.test_budgets import KINDS


@pytest.mark.parametrize("state", [JobState.CANCELLED, JobState.COMPLETED])
@pytest.mark.parametrize("name", KINDS)
def test_what_a_job_has_said_goes_with_it(name, state):
    scheduler = crowded(SUBJECTS[name], 0)
    said = job(SUBJECTS[name], scheduler, 99, 8 if state is JobState.CANCELLED else 1)
    if state is JobState.COMPLETED:
        scheduler.leave("1", 1, JobState.COMPLETED)
    scheduler.submit(said)
    while (turn := scheduler.next(1)) is not None:
        scheduler.start(turn.job, 1)
    scheduler.leave("99", 1, state)
    scheduler.enter(2)
    turn = scheduler.next(2)  # an iteration may remember whose turn was the last
    assert "99" not in scheduler
    assert [known for known in gc.get_referrers(said) if not isinstance(known, FrameType)] == []


@pytest.mark.parametrize("name", KINDS)
def test_nothing_is_left_of_many_jobs_that_were_cancelled(name):
    scheduler = crowded(SUBJECTS[name], 0)
    known = []
    for first in range(1000, 1400, 100):
        for number in range(first, first + 100):
            scheduler.submit(job(SUBJECTS[name], scheduler, number, 8))
        for number in range(first, first + 100):
            scheduler.leave(str(number), 1, JobState.CANCELLED)
        scheduler.next(1)
        scheduler.take_changed()
        gc.collect()
        kinds = map(type, gc.get_objects())
        known.append(Counter(kind for kind in kinds if str(kind.__module__).startswith("cosched")))
    assert known[1] == known[2] == known[3]
