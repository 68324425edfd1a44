"""Another job in the place of one that waits: who is said to wait for it, and how a batch system gets it."""

import re

import pytest

from cosched.cli.client import successors
from cosched.v1 import coscheduling_pb2, domain_pb2, explain_pb2, job_pb2
from cosched_adapters.batch_system import Accepted, BatchSystemFactory
from cosched_adapters.manager import ManagerError
from tests.client.fake_domain import EPOCH, EUREKA_3

SCRIPT = "#!/bin/sh\n"
STATES = job_pb2.JobState


@pytest.fixture
def paired(domain):
    """Job 17, whose mate is eureka:3; and what its domain says of that."""
    job = domain.add()
    pair = {"pair": {"domain": "eureka", "name": "run7"}}
    job.mates.add(lookup=coscheduling_pb2.MATE_LOOKUP_FOUND, name=pair, job=EUREKA_3)
    waiting = explain_pb2.Outlook(job=EUREKA_3, state=STATES.JOB_STATE_HOLDING)
    domain.explanations["17"] = explain_pb2.Explanation(mates=[waiting])
    return job


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(successors, "LOOKS", (0.0, 0.0))


def cancelled(cosched, *options):
    result = cosched("cancel", *options, "17")
    assert result.stdout == "job intrepid:17 was cancelled\n"
    return result.stderr


@pytest.mark.usefixtures("paired")
def test_cancelling_says_until_when_a_mate_waits_for_another(cosched, domain):
    mate = domain.explanations["17"].mates[0]
    mate.successor.until.seconds, mate.successor.then = EPOCH + 300, "is cancelled, too"
    waits = (
        r"eureka:3 waits until [-0-9]+ [0-9]+:05:00 for another in its place, then is cancelled, too \(--final: now\)\n"
    )
    assert re.fullmatch(waits, cancelled(cosched))


@pytest.mark.usefixtures("paired")
def test_of_a_mate_whose_domain_does_not_answer_no_time_is_said(cosched, domain):
    domain.explanations["17"].mates[0].state, domain.explanations["17"].mates[0].problem = 0, "eureka gives no answer"
    said = "eureka:3 may wait for another in its place for a while (--final: not): eureka gives no answer\n"
    assert cancelled(cosched) == said


@pytest.mark.usefixtures("paired")
def test_it_is_said_if_a_job_is_cancelled_for_good_too_late(cosched, domain):
    mate = domain.explanations["17"].mates[0]
    mate.successor.until.seconds, mate.successor.then = EPOCH + 300, "starts alone"
    assert cancelled(cosched, "--final") == ""
    late, waits = cancelled(cosched, "--final").splitlines()
    assert late == "that was before: cosched unlink, of a mate of intrepid:17 that waits, ends its wait"
    assert waits.startswith("eureka:3 waits until ")


@pytest.mark.parametrize("why", ["final", "mate runs", "mate waits for none", "it ran", "no mate", "nobody explains"])
def test_nothing_is_said_where_nobody_waits(cosched, domain, paired, why):
    if why == "mate runs":
        domain.explanations["17"].mates[0].state = STATES.JOB_STATE_RUNNING
    if why == "it ran":
        paired.started_at.seconds = EPOCH
    if why == "no mate":
        del paired.mates[:]
    if why == "nobody explains":
        domain.explanations.clear()
    assert cancelled(cosched, *(["--final"] if why == "final" else [])) == ""
    [request] = [each for each in domain.requests if isinstance(each, domain_pb2.CancelJobRequest)]
    assert request.final is (why == "final")


# Beside a batch system


@pytest.fixture
def batch(monkeypatch, domain):
    """The jobs that a batch system has got, by their options; `problem`: why it takes none."""

    class Batch(list):
        problem = ""

    taken = Batch()

    def submit(submission):
        if taken.problem:
            raise ManagerError(taken.problem)
        taken.append({name: option for name, option in submission.options.items() if name != "script"})
        return Accepted("18", names_mate=False, remarks=[])

    system = BatchSystemFactory(lambda *_: None, submit, can_group=True)
    monkeypatch.setattr("cosched.cli.client.submit.batch_system", lambda _: system)
    domain.domain.peers.add(name="eureka")
    return taken


def test_a_batch_system_gets_another_job_with_the_same_mate_and_terms_once_the_old_one_has_ended(
    cosched, domain, paired, batch
):
    paired.mates[0].or_alone = True
    terms = paired.mates[0].terms
    terms.ends_with.append("eureka")
    terms.together_for.seconds = 600
    result = cosched("submit", "--nodes", "4", "--in-place-of", "17", "-", input=SCRIPT)
    assert result.stdout == "Submitted job 18 to intrepid\n"
    assert domain.jobs["17"].state == STATES.JOB_STATE_CANCELLED
    mate = {"nodes": 4, "pair": "run7", "pair_domain": "eureka", "or_alone": True, "ends_with": ("eureka",)}
    assert batch == [{**mate, "fail_together": False, "if_requeued": None, "together_for": 600}]


def test_own_terms_win_and_a_script_may_name_the_pair_still(cosched, paired, batch):
    paired.mates[0].terms.ends_with.append("eureka")
    script = f"{SCRIPT}#COSCHED --pair=run7 --or-alone\n"
    cosched("submit", "--fail-together", "--in-place-of", "17", "-", input=script)
    assert batch == [{"pair": "run7", "pair_domain": "eureka", "fail_together": True}]


def test_of_a_group_all_is_taken_over(cosched, domain, batch):
    group = domain.add().group
    group.name, group.at.seconds = "run7", EPOCH
    group.members.add(domain="eureka")
    domain.domain.slots = True
    cosched("submit", "--in-place-of", "17", "-", input=SCRIPT)
    assert batch == [{"group": "run7", "members": ("eureka",), "windows": {}, "at": EPOCH}]


@pytest.mark.usefixtures("paired")
def test_what_is_left_is_said_if_the_batch_system_takes_no_other(cosched, domain, batch):
    batch.problem = "sbatch: Invalid partition"
    said = cosched("submit", "--in-place-of", "17", "-", input=SCRIPT, exit_code=1).stderr.splitlines()
    assert said[-1] == (
        "cosched: job intrepid:17 is cancelled, and no other is in its place: sbatch: Invalid partition; "
        "submit one by --pair run7"
    )
    assert domain.jobs["17"].state == STATES.JOB_STATE_CANCELLED


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("has no mate", "job intrepid:17 has no mate: cancel it, and submit the other one"),
        ("runs", "job intrepid:17 is running: only one that waits can be replaced"),
        ("is stubborn", "is to be cancelled, but its batch system has not ended it within 0 s: nothing was submitted"),
        pytest.param("gets a column", "--least:", marks=pytest.mark.papers),
    ],
)
def test_nothing_is_lost_where_none_can_be_in_its_place(refused, domain, paired, batch, monkeypatch, wrong, said):
    options = []
    if wrong == "has no mate":
        del paired.mates[:]
    if wrong == "runs":
        paired.state = STATES.JOB_STATE_RUNNING
    if wrong == "is stubborn":
        monkeypatch.setattr(successors, "PATIENCE", 0.0)
        domain.ends_late = True
    if wrong == "gets a column":
        options = ["--least", "1"]
    code = 2 if wrong == "gets a column" else 1
    assert said in refused("submit", *options, "--in-place-of", "17", "-", input=SCRIPT, exit_code=code)
    assert not batch
    asked = any(isinstance(request, domain_pb2.CancelJobRequest) for request in domain.requests)
    assert asked is (wrong == "is stubborn")
