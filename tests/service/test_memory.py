"""What is kept of the core's state of a job is what comes back."""

import json
from dataclasses import replace
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from cosched.core.allocation import Allocation
from cosched.core.coscheduling.ledger import PairedJob, Parted, Untold
from cosched.core.coscheduling.membership import Membership, Promise, Proposal
from cosched.core.job import JobState
from cosched.core.protocol import (
    FOREVER,
    GetMateStatus,
    MutatingReply,
    ProposeGroupStart,
    SettleGroupStart,
    StartJob,
    TryStartMate,
)
from cosched.core.scheduling.scheduler import ClusterJob
from cosched.service.domain.memory import named_in, recall, recalled_answer, recalled_job, recalled_place, remember
from cosched.service.store import JobRecord
from cosched.service.store.records import job_of, job_row
from tests.service import messages

NUMBERS = st.integers(0, FOREVER)
TEXTS = st.text(max_size=5)
CALLS = st.one_of(
    st.builds(TryStartMate, TEXTS, TEXTS, TEXTS, NUMBERS),
    st.builds(StartJob, TEXTS, TEXTS, TEXTS, NUMBERS, st.none() | st.floats(0, 1e10)),
)
GIVEN = {"request_id": TEXTS, "job": TEXTS, "caller": TEXTS, "hold_until": NUMBERS}
PROPOSALS = st.builds(ProposeGroupStart, **GIVEN, lease=NUMBERS, start_at=st.none() | st.floats(0, 1e10), slot=TEXTS)
SETTLED = st.builds(SettleGroupStart, **GIVEN, start=st.booleans(), start_at=st.none() | st.floats(0, 1e10))
ALLOCATIONS = st.builds(
    Allocation,
    NUMBERS,
    NUMBERS,
    NUMBERS,
    st.fractions(min_value=Fraction(1, 99)),
    NUMBERS,
    st.none() | st.lists(TEXTS, max_size=3).map(tuple),
    NUMBERS,
)
JOBS = st.builds(
    PairedJob,
    st.just("1"),
    st.just("ann"),
    state=st.sampled_from(JobState),
    allocation=st.none() | ALLOCATIONS,
    generation=NUMBERS,
    disclosed=st.booleans(),
    yields=NUMBERS,
    yielded_at=st.none() | NUMBERS,
    held_until=NUMBERS,
    alone=st.booleans(),
    call=st.none() | CALLS,
    uncertain=st.booleans(),
    slot_generation=NUMBERS,
    proposes=st.booleans(),
    confirmed=st.booleans(),
    wanted=st.booleans(),
    parted=st.none() | st.builds(Parted, TEXTS, TEXTS, TEXTS),
    untold=st.dictionaries(TEXTS, st.builds(Untold, SETTLED, NUMBERS), max_size=2),
)
GROUPS = st.builds(
    lambda membership, **known: replace(membership, **known),
    st.sampled_from(
        (
            Membership("run7", ("a", "b", "c"), ("b", "c")),
            Membership("run7", ("a", "b"), ("b",), windows={"b": (0, 60)}, at=90),
            Membership("run7", ("a", "b"), ("b",), is_pair=True),
            Membership("", ("a", "b"), ("b",), is_pair=True),
        )
    ),
    or_alone=st.booleans(),
    jobs=st.dictionaries(st.just("b"), TEXTS),
    slot=TEXTS,
    without=st.lists(TEXTS, max_size=2).map(tuple),
    instant=st.none() | NUMBERS,
    proposal=st.none() | st.builds(Proposal, NUMBERS, st.dictionaries(TEXTS, PROPOSALS, max_size=2)),
    promise=st.none()
    | st.builds(Promise, TEXTS, TEXTS, TEXTS, st.sampled_from(JobState), NUMBERS, NUMBERS, st.booleans()),
    started_by=TEXTS,
    held_by=st.dictionaries(TEXTS, NUMBERS, max_size=2),
    void=st.dictionaries(TEXTS, NUMBERS, max_size=2),
)
PLACES = st.builds(
    ClusterJob,
    st.just("1"),
    st.just(4),
    st.just(60),
    st.just(5),
    st.just(True),
    expected=NUMBERS,
    passed_over=NUMBERS,
    wanted_until=NUMBERS,
    released=NUMBERS,
    kept=st.dictionaries(TEXTS, NUMBERS | st.booleans() | TEXTS | st.lists(NUMBERS, max_size=2), max_size=3),
)
BARE = ClusterJob("1", 4, 60, 5, True)


@given(job=JOBS, place=st.just(BARE) | PLACES, slot=st.none() | NUMBERS)
def test_what_is_remembered_is_recalled(job, place, slot):
    """What the scheduler keeps is its own: it may have the names of fields of the core."""
    job = replace(job, slot=slot)
    kept = json.loads(json.dumps(remember(job, place.to_keep())))
    again = PairedJob("1", "ann", None, job.state, ready_at=job.ready_at, started_at=job.started_at)
    assert recall(again, kept) == job
    if place is not BARE:
        assert BARE.with_kept(recalled_place(kept)) == place


def test_what_earlier_versions_remembered_is_recalled():
    kept = {"holds": 1, "slot": 50, "slot_block": 2, "expected": 90, "guard": 7, "share": [4, 100], "held_until": 9}
    place = BARE.with_kept(recalled_place(kept))
    assert (place.expected, place.kept) == (90, {"slot": 50, "slot_block": 2, "guard": 7, "share": [4, 100]})


@given(group=GROUPS)
def test_what_is_remembered_of_a_pair_or_a_group_is_recalled(group):
    """The questions of a RunJob are not: it begins anew."""
    job = PairedJob("1", "ann", replace(group, asked={"b": GetMateStatus("1", "2")}))
    record = JobRecord(1, "j", "ann", None, 4, 60, 0, JobState.QUEUED, memory=remember(job, {}))
    record.group_name, record.mates, record.is_pair = named_in(job.group)
    assert recalled_job(job_of(job_row(record)), "a") == PairedJob("1", "ann", group)


@given(messages.replies.filter(lambda reply: isinstance(reply, MutatingReply)))
def test_an_answer_is_recalled_as_it_was(reply):
    again = recalled_answer(type(reply).__name__, json.loads(json.dumps([*reply])))
    assert (type(again), again) == (type(reply), reply)
    assert list(map(type, again)) == list(map(type, reply))


def test_little_is_kept_of_a_job_that_just_waits():
    assert remember(PairedJob("1", "ann"), BARE.to_keep()) == {}
