"""A completion counts only if it is that of the run that the job is in."""

from collections.abc import Sequence

import pytest

from cosched.core.scheduling.primitives.tables import SLACK
from cosched_sim.engine import Engine
from cosched_sim.script import Action, ScriptedEvent
from cosched_sim.what_if import WhatIf
from tests.reference import RefDomain, RefJob
from tests.sim.exact import pairing_of, setup_of


def requeue(*instants: int) -> WhatIf:
    """A script that takes the nodes of the first job at these instants, and queues it again."""
    return WhatIf([ScriptedEvent(instant, Action.REQUEUE, "A") for instant in instants])


def replayed(script: WhatIf, *domains: Sequence[RefJob], policy: str = "fcfs") -> Engine:
    named = zip("AB", domains, strict=False)
    setups = [setup_of(RefDomain(name, 4, list(jobs), policy=policy)) for name, jobs in named]
    engine = Engine(setups, pairing_of([], setups), script)
    engine.run()
    return engine


def runs(engine: Engine) -> list[tuple[int, int]]:
    return [(int(job["start"]), int(job["end"])) for job in engine.tables.jobs]


@pytest.mark.parametrize("at", [1, 30, 99])
def test_a_job_that_is_started_again_ends_by_its_present_start(at):
    assert runs(replayed(requeue(at), [RefJob(1, 0, 100, 100, 4)])) == [(at, at + 100)]


def test_a_job_that_waits_and_is_started_again_does_not_end_when_it_would_have_ended():
    jobs = [RefJob(1, 0, 100, 100, 3), RefJob(2, 0, 90, 90, 1), RefJob(3, 10, 50, 50, 3)]
    assert runs(replayed(requeue(30), jobs, policy="sjf")) == [(80, 180), (0, 90), (30, 80)]


def test_a_job_may_be_started_again_any_number_of_times():
    """The heap has room for more than two completions a job, and a second domain's is beside it."""
    instants = range(1, 10 * SLACK)
    engine = replayed(requeue(*instants), [RefJob(1, 0, 100, 100, 4)], [RefJob(1, 0, 60, 60, 4)])
    assert runs(engine) == [(instants[-1], instants[-1] + 100), (0, 60)]
