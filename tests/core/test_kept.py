"""What outlives a restart is said where it is declared, and comes back as it was."""

import json
from dataclasses import is_dataclass
from typing import get_args, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.core.allocation import Allocation
from cosched.core.coscheduling.ledger import PairedJob
from cosched.core.coscheduling.membership import Membership
from cosched.core.coscheduling.peers import Presence
from cosched.core.job import JobState
from cosched.core.kept import from_plain, kept_fields, lasts, restore, to_plain
from cosched.core.protocol import named_group, named_mate
from tests.core.kept_values import values

NAMED = (named_group("run7", ("b", "c")), named_mate("b", "run7"), named_mate("b"))
# What is beside is not kept by this.
GROUPS = st.sampled_from(NAMED).flatmap(lambda named: values(Membership, **_beside(named)))


def _beside(named):
    group = Membership.named("a", named)
    return {"name": group.name, "domains": group.domains, "others": group.others, "is_pair": group.is_pair}


def kept_types(kind: type) -> set[type]:
    """The data classes that a kept type is made of."""
    found = {kind}
    hints = get_type_hints(kind, include_extras=True)
    for each in kept_fields(kind):
        for part in parts(hints[each.name]):
            if is_dataclass(part):
                found |= kept_types(part)
    return found


def parts(hint):
    yield hint
    for part in get_args(hint):
        yield from parts(part)


KEPT_TYPES = sorted(kept_types(PairedJob) | kept_types(Presence), key=lambda kind: kind.__name__)


@pytest.mark.parametrize("kind", KEPT_TYPES)
def test_each_field_of_a_kept_type_says_whether_it_outlives_a_restart(kind):
    assert [name for name, said in lasts(kind).items() if said is None] == []


def test_the_kept_types_are_those_of_a_job_and_a_peer():
    names = [kind.__name__ for kind in KEPT_TYPES]
    assert names == ["Allocation", "Membership", "PairedJob", "Presence", "Promise", "Proposal"]


@given(job=values(PairedJob, id="1", owner="ann", group=None), group=st.none() | GROUPS)
def test_what_is_kept_of_a_job_comes_back(job, group):
    """The questions of a RunJob do not: it begins anew."""
    job.group = group
    again = PairedJob("1", "ann")
    if group is not None:
        again.group = Membership(group.name, group.domains, group.others, is_pair=group.is_pair)
    if group is not None and group.proposal is not None:
        group.proposal.booked, group.proposal.start_at = set(), None
    assert restore(again, json.loads(json.dumps(to_plain(job)))) == job


@given(values(Presence) | values(Allocation))
def test_what_is_kept_of_a_peer_or_an_allocation_comes_back(value):
    assert from_plain(type(value), json.loads(json.dumps(to_plain(value)))) == value


def test_nothing_is_kept_of_a_job_that_just_waits():
    assert to_plain(PairedJob("1", "ann", Membership.named("a", named_mate("b", "p")))) == {}


def test_a_value_that_lacks_what_came_later_has_its_default():
    assert from_plain(Presence, {"away_since": 4}) == Presence(4)
    job = restore(PairedJob("1", "ann"), {"call": ["TryStartMate", "a/1/1", "2", "1", 0]})
    assert job.call.start_at is None
    assert job.state is JobState.QUEUED
