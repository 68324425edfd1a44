"""Maintenance of one of two real Slurm clusters: drained, slurmctld restarted, resumed."""

import pytest

from tests.live.workloads import Work
from tests.slurm.coupled_checks import START, Served, hold, hooks_of, whys
from tests.slurm.laboratory import laboratory

NAMES = ("p", "q", "r")
running, coupled = laboratory(Served, serve=("hold", "hold"), options={"nodes": len(NAMES)}, services=False, **START)


@pytest.mark.soak  # as in tests/live/test_drain.py
def test_a_drained_cluster_holds_nothing_and_makes_its_pairs_once_it_is_resumed(coupled: Served) -> None:
    here, there = coupled.here, coupled.there
    works = [Work(name, 1, 0.1) for name in NAMES]
    held = [hold(coupled, here, work) for work in works]
    here.service.run("drain", "--settle", "1s")  # which waits until nothing is held
    coupled.until(lambda: not hooks_of(here), "the end of all holds")
    # Slurm may offer a job again at any time, and gets it back at once.
    coupled.until(lambda: {here.cluster.state(int(job)) for job in held} == {"PENDING"}, "jobs that wait")
    mates = [coupled.submit(there, work) for work in works]
    here.cluster.stop_controller()
    here.cluster.start_controller()
    assert not any(whys(there, mate) for mate in mates)
    here.service.run("resume")
    coupled.check_started_together(held, mates)
