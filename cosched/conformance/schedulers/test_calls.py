"""Whatever a scheduler is told, and however late: what must always hold does, and a restart changes nothing."""

from __future__ import annotations

from cosched.conformance.schedulers.subject import Subject
from cosched.conformance.schedulers.waiting import Waiting

CASES, STEPS = 4, 40


def test_answers_may_be_late_and_anything_happens_meanwhile(subject: Subject, seed: int) -> None:
    """ "If something else changes in the domain meanwhile, the iteration is abandoned and another begins"
    (coscheduling.md)"""
    for case in range(CASES):
        waiting = Waiting(subject, (seed, case))
        for _ in range(STEPS):
            waiting.step()
        waiting.finish()
