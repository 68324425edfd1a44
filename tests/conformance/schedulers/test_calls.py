"""Whatever a scheduler is told, and however late: what must always hold does, and a restart changes nothing."""

from __future__ import annotations

import pytest

from tests.conformance.schedulers.kinds import SCHEDULERS
from tests.conformance.schedulers.waiting import Waiting
from tests.tiers import seeds

CASES, STEPS = 4, 40


@pytest.mark.parametrize("seed", seeds(1, 200))
@pytest.mark.parametrize("name", SCHEDULERS)
def test_answers_may_be_late_and_anything_happens_meanwhile(name, seed):
    """ "If something else changes in the domain meanwhile, the iteration is abandoned and another begins"
    (coscheduling.md)"""
    for case in range(CASES):
        waiting = Waiting(name, (seed, case))
        for _ in range(STEPS):
            waiting.step()
        waiting.finish()
