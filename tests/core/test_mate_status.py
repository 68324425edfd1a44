"""The mate status table of coscheduling.md: what a domain says, and what the caller does (see test_algorithm1, too)."""

import pytest

from cosched.core.effects import Start
from cosched.core.events import PatienceOver
from cosched.core.job import JobState
from cosched.core.protocol import EndedBy, MateStatus, Status
from cosched.core.settings import Scheme

from .driver import DomainA, decided, detail, told

# What j does


def test_unsubmitted_when_patience_has_ended():
    """ "unsubmitted | [...] j holds or yields, up to `mate_patience` after its own submission; then start j alone and
    say so" """
    a = DomainA(scheme=Scheme.YIELD, mate_patience=500)
    a.run_job(Status.UNSUBMITTED)
    a.now = 500
    a.feed(PatienceOver("j"))
    assert told(a.run_job(Status.UNSUBMITTED)) == ["started: patience ended"]


@pytest.mark.parametrize("status", [Status.RUNNING, Status.ENDED])
def test_running_and_ended(a, status):
    """ "running, ended | it started before | j starts now. The pair is recorded as desynchronised, with the gap" """
    a.now = 130
    effects = a.run_job(status, started_at=100)
    assert decided(effects) == [Start]
    assert told(effects) == ["started: its mate started before it: desynchronised"]
    assert detail(effects, "started")["gap_s"] == 30


# What a domain says of k


def test_a_ready_job_counts_as_holding(a):
    """ "A job that has nodes and only waits for its own RunJob to be answered counts as holding, with a generation" """
    a.ready()
    a.asked_id()
    assert a.asked_status() == MateStatus(Status.HOLDING, 1, None)


@pytest.mark.parametrize(
    ("how", "status"),
    [
        (None, Status.RUNNING),
        (JobState.COMPLETED, Status.ENDED),
        (JobState.FAILED, Status.FAILED),
        (JobState.CANCELLED, Status.CANCELLED),
    ],
)
def test_a_job_that_started_says_since_when(a, how, status):
    a.now = 40
    a.run_job(Status.UNKNOWN)
    a.asked_id()
    a.now = 90
    if how is not None:
        a.finish(how)
    by = EndedBy.OWNER if how is JobState.CANCELLED else EndedBy.ITSELF
    assert a.asked_status() == MateStatus(status, 0, 40, runs=1, ended_at=None if how is None else 90, ended_by=by)


@pytest.mark.parametrize(("job", "caller", "peer"), [("x", "k", "B"), ("j", "x", "B"), ("j", "k", "C")])
def test_a_job_that_is_not_the_callers_mate_is_unknown(a, job, caller, peer):
    a.submit()
    a.asked_id()
    assert a.asked_status(job, caller, peer) == MateStatus(Status.UNKNOWN, 0, None)


def test_a_job_whose_mate_has_not_asked_yet_is_nobodys(a):
    """A peer asks for its mate's id first: until then any caller might claim to be the mate."""
    a.submit()
    assert a.asked_status(caller="x") == MateStatus(Status.UNKNOWN, 0, None)
