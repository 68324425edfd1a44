"""A pair's whole life in replays with a script: what follows at which instant (coscheduling.md); more is in tests/core.

Each case is played by the compiled world and by a core player, in all ways to share the domains among them.
"""

from dataclasses import replace

import pytest

from cosched.core.job import JobState
from cosched.core.protocol import Terms
from cosched.core.settings import OnMemberRequeued
from cosched_sim.script import Action, ScriptedEvent
from tests.reference import RefDomain, RefJob
from tests.sim.exact import pairing_of, setup_of
from tests.sim.federated import casts, played

REQUEUE = OnMemberRequeued.REQUEUE
PAIR = [(("a", 1), ("b", 2))]
QUIET = {"release_jitter": "0", "max_held_fraction": "1"}
LONG = 5000


def machine(name, *jobs):
    """A domain of 8 nodes; jobs as (submit, run, nodes), in trace order, numbered from 1."""
    return RefDomain(name, 8, [RefJob(number, s, r, r, n) for number, (s, r, n) in enumerate(jobs, 1)], **QUIET)


def outcomes(domains, pairs, script, terms=None, **settings):
    """What came of all jobs, (state, start, end) by `DOMAIN:ID`, whoever has played which domain."""
    setups = [_with(setup_of(domain), settings) for domain in domains]
    pairing = _with_terms(pairing_of(pairs, setups), setups, terms or {})
    found = [played(setups, pairing, cores, script) for cores in casts(setups)]
    assert all(other == found[0] for other in found[1:])
    told = {}
    for setup in setups:
        jobs, _ = found[0][setup.name]
        for row, job in enumerate(setup.workload.job_id.tolist()):
            told[f"{setup.name}:{job}"] = jobs["state"][row], jobs["start"][row], jobs["end"][row]
    return told


def _with(setup, settings):
    return replace(setup, coscheduling=replace(setup.coscheduling, **settings))


def _with_terms(pairing, setups, terms):
    names = [setup.name for setup in setups]
    rows = [setup.workload.job_id.tolist() for setup in setups]
    known = {(names.index(name), rows[names.index(name)].index(job)): of for (name, job), of in terms.items()}
    return replace(pairing, terms=known)


# a:1 (6 of 8 nodes) is ready at 10; its mate b:2 queues behind a job until 500

CASE_1 = [machine("a", (10, 100, 6)), machine("b", (0, 500, 8), (10, 100, 6))]


@pytest.mark.parametrize("submit", [50, 130])
def test_a_job_is_replaced_at_one_instant_also_without_a_patience(submit):
    """The new one waits already, or is submitted later."""
    b = machine("b", (0, 500, 8), (10, 100, 6), (submit, 100, 6))
    told = outcomes([CASE_1[0], b], PAIR, [ScriptedEvent(130, Action.REPLACE, "b", row=1, new=2)])
    assert told["b:2"] == (JobState.CANCELLED, -1, 130)
    assert (told["a:1"][1], told["b:3"][1]) == (500, 500)


@pytest.mark.parametrize(
    ("terms", "settings"),
    [(None, {"on_member_requeued": REQUEUE}), (Terms(if_requeued=REQUEUE), {}), (Terms((), False, REQUEUE, 60), {})],
)
def test_both_are_queued_again_and_start_together(terms, settings):
    """b:2 comes before b:1, which begins anew: it was submitted later, but is shorter."""
    domains = [machine("a", (0, LONG, 8)), machine("b", (0, LONG, 8), (5, 10, 8))]
    domains[1].policy = "sjf"
    script = [ScriptedEvent(60, Action.REQUEUE, "b", row=0)]
    told = outcomes(domains, [(("a", 1), ("b", 1))], script, {("a", 1): terms} if terms else None, **settings)
    assert told["b:2"] == (JobState.COMPLETED, 60, 70)
    assert told["a:1"] == told["b:1"] == (JobState.COMPLETED, 0, 70 + LONG)


def test_an_unlinked_mate_is_waited_for_no_longer():
    told = outcomes(CASE_1, PAIR, [ScriptedEvent(100, Action.UNLINK, "b", row=1)])
    assert (told["a:1"][1], told["b:2"][1]) == (100, 500)


def test_a_replay_that_stands_still_after_an_event_of_a_script_ends_at_one_instant():
    """The successor comes too late: it holds without end, for a mate that has started alone."""
    b = machine("b", (0, 500, 8), (10, 100, 6), (20, 100, 6))
    told = outcomes([CASE_1[0], b], PAIR, [ScriptedEvent(15, Action.REPLACE, "b", row=1, new=2)])
    assert (told["a:1"][1], told["b:3"]) == (15, (JobState.HOLDING, -1, -1))
