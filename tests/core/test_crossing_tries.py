"""Of two tries that stand in each other's way, both domains let the same pair go on."""

import pytest

from cosched.core.coscheduling.ledger import Ledger, PairedJob
from cosched.core.coscheduling.starts.crossing import gives_way
from cosched.core.job import JobState
from cosched.core.protocol import GetMateStatus, TryStartMate
from cosched.core.settings import CoschedulingSettings

PAIRS = (("1", "11"), ("2", "12"))  # jobs of a, and their mates on b


def domain(name: str, *, call: object, tried: str) -> tuple[Ledger, PairedJob]:
    """Its job of each pair: one is tried for the peer, and the other is ready and makes this call."""
    ledger = Ledger(name, 10, CoschedulingSettings())
    for pair in PAIRS:
        ours, theirs = pair if name == "a" else pair[::-1]
        job = PairedJob(ours, "b" if name == "a" else "a", None, theirs, "ann")
        if ours != tried:
            job.state, job.call = JobState.READY, call
        ledger.jobs[ours] = job
    return ledger, ledger.jobs[tried]


@pytest.mark.parametrize("wall", range(0, 1200, 60))
def test_one_of_two_domains_gives_way_and_not_always_the_same(wall):
    call = TryStartMate("x", "1", "2", 0)
    a, b = domain("a", call=call, tried="1"), domain("b", call=call, tried="12")
    assert [gives_way(*a, wall), gives_way(*b, wall)].count(True) == 1
    assert gives_way(*a, wall) == gives_way(*a, wall + 59)


def test_each_gives_way_at_times():
    call = TryStartMate("x", "1", "2", 0)
    assert {gives_way(*domain("a", call=call, tried="1"), wall) for wall in range(0, 6000, 60)} == {True, False}


def test_only_for_a_job_that_waits_for_a_try():
    a = domain("a", call=GetMateStatus("1", "2"), tried="1")
    assert not any(gives_way(*a, wall) for wall in range(0, 6000, 60))
