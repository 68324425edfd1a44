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


# Case 1: a:1 (6 of 8 nodes) is ready at 10; its mate b:2 queues behind a job until 500

CASE_1 = [machine("a", (10, 100, 6)), machine("b", (0, 500, 8), (10, 100, 6))]


def cancels(time, job=1, *, final=False):
    """A job of b is cancelled, which is known by its row."""
    return ScriptedEvent(time, Action.CANCEL, "b", row=job, final=final)


@pytest.mark.parametrize(("final", "start"), [(False, 160), (True, 100)])
def test_a_successor_is_waited_for_unless_none_can_come(final, start):
    told = outcomes(CASE_1, PAIR, [cancels(100, final=final)], successor_patience=60, successor_hold=60)
    assert told["a:1"][1] == start


# Case 2: another comes in its place


@pytest.mark.parametrize("hold", [60, 20])
def test_another_job_comes_in_the_place_of_a_cancelled_one(hold):
    """With `successor_hold` 20 others have the nodes meanwhile: a:2 needs all."""
    a = machine("a", (10, 100, 6), (20, 10, 8))
    b = machine("b", (0, 500, 8), (10, 100, 6), (130, 100, 6))
    script = [cancels(100), ScriptedEvent(130, Action.REPLACE, "b", row=1, new=2)]
    told = outcomes([a, b], PAIR, script, successor_patience=60, successor_hold=hold)
    assert told["b:2"] == (JobState.CANCELLED, -1, 100)
    assert (told["a:1"][1], told["b:3"][1]) == (500, 500)
    assert told["a:2"][1] == (600 if hold == 60 else 120)


@pytest.mark.parametrize("submit", [50, 130])
def test_a_job_is_replaced_at_one_instant_also_without_a_patience(submit):
    """The new one waits already, or is submitted later."""
    b = machine("b", (0, 500, 8), (10, 100, 6), (submit, 100, 6))
    told = outcomes([CASE_1[0], b], PAIR, [ScriptedEvent(130, Action.REPLACE, "b", row=1, new=2)])
    assert told["b:2"] == (JobState.CANCELLED, -1, 130)
    assert (told["a:1"][1], told["b:3"][1]) == (500, 500)


def test_a_place_is_given_once():
    """Who comes second to the place of the same job has no mate, and waits as it was."""
    b = machine("b", (0, 500, 8), (10, 100, 6), (200, 100, 6), (210, 100, 6))
    script = [ScriptedEvent(at, Action.REPLACE, "b", row=1, new=new) for at, new in ((30, 2), (40, 3))]
    told = outcomes([CASE_1[0], b], PAIR, script, successor_patience=300, successor_hold=300)
    assert [told[job][1] for job in ("a:1", "b:3", "b:4")] == [500, 500, 600]


# Case 5: a:1 and b:1 run from 0; b:1 is queued again at 60 and ready again at 70

BOTH = [(("a", 1), ("b", 1))]
AGAIN = ScriptedEvent(60, Action.REQUEUE, "b", row=0)


def requeued(terms=None, **settings):
    domains = [machine("a", (0, LONG, 8)), machine("b", (0, LONG, 8), (5, 10, 8))]
    # b:2 comes before b:1, which begins anew: it was submitted later, but is shorter
    domains[1].policy = "sjf"
    return outcomes(domains, BOTH, [AGAIN], {("a", 1): terms} if terms else None, **settings)


@pytest.mark.parametrize(
    ("terms", "settings"),
    [(None, {"on_member_requeued": REQUEUE}), (Terms(if_requeued=REQUEUE), {}), (Terms((), False, REQUEUE, 60), {})],
)
def test_both_are_queued_again_and_start_together(terms, settings):
    told = requeued(terms, **settings)
    assert told["b:2"] == (JobState.COMPLETED, 60, 70)
    assert told["a:1"] == told["b:1"] == (JobState.COMPLETED, 0, 70 + LONG)


# Case 6: vis:1 ends with sim:1


@pytest.mark.parametrize("how", ["ends", "fails", "is cancelled"])
def test_a_job_ends_with_its_mate(how):
    domains = [machine("sim", (0, 900 if how == "ends" else LONG, 8)), machine("vis", (0, LONG, 8))]
    script = {
        "fails": [ScriptedEvent(900, Action.FAIL, "sim")],
        "is cancelled": [ScriptedEvent(900, Action.CANCEL, "sim")],
    }
    terms = {("vis", 1): Terms(ends_with=("sim",))}
    told = outcomes(domains, [(("sim", 1), ("vis", 1))], script.get(how, []), terms)
    state = {"ends": JobState.COMPLETED, "fails": JobState.FAILED}.get(how, JobState.CANCELLED)
    assert told == {"sim:1": (state, 0, 900), "vis:1": (JobState.COMPLETED, 0, 900)}


# Others


def test_an_unlinked_mate_is_waited_for_no_longer():
    told = outcomes(CASE_1, PAIR, [ScriptedEvent(100, Action.UNLINK, "b", row=1)])
    assert (told["a:1"][1], told["b:2"][1]) == (100, 500)


def test_a_replay_that_stands_still_after_an_event_of_a_script_ends_at_one_instant():
    """The successor comes too late: it holds without end, for a mate that has started alone."""
    b = machine("b", (0, 500, 8), (10, 100, 6), (20, 100, 6))
    told = outcomes([CASE_1[0], b], PAIR, [ScriptedEvent(15, Action.REPLACE, "b", row=1, new=2)])
    assert (told["a:1"][1], told["b:3"]) == (15, (JobState.HOLDING, -1, -1))
