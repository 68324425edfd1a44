"""Timers of slots fire after all others of their instant, in a simulation and in a service that keeps step with one."""

from cosched.core.effects import Timer
from cosched.core.timers import VirtualTimers
from cosched.service.replay.timers import PacedTimers

KEYS = [(0, "1", Timer.SLOT), (1, "2", Timer.RELEASE), (1, "3", Timer.LAPSE), (0, "4", Timer.PATIENCE)]
OTHERS, OF_SLOTS = ["2", "4"], ["1", "3"]


def test_in_a_simulation():
    timers = VirtualTimers()
    for key in KEYS:
        timers.set(key, key[2], 7)
    timers.set((0, "5", Timer.RELEASE), Timer.RELEASE, 8)
    for of_slots, jobs in ((False, OTHERS), (True, OF_SLOTS)):
        assert timers.next() == 7
        assert [timers.take(7, of_slots=of_slots)[1] for _ in jobs] == jobs
        assert timers.take(7, of_slots=of_slots) is None
    assert timers.next() == 8


def test_in_a_service():
    timers, fired = PacedTimers(), []
    for _, job, kind in KEYS:
        timers.set(f"{kind} {job}", 7.0, lambda job=job: fired.append(job))
    for of_slots, jobs in ((False, OTHERS), (True, OF_SLOTS)):
        assert timers.next == 7
        while (fire := timers.due(7, of_slots=of_slots)) is not None:
            fire()
        assert fired[-2:] == jobs
    assert timers.next is None
