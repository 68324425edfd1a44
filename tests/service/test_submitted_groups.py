"""Groups in submissions: one clear line for each mistake."""

import pytest

from cosched.core.protocol import GroupName, MateName
from cosched.service.wire.fields import FieldError
from cosched.service.wire.submissions import read_submission
from cosched.v1.domain_pb2 import SubmitJobRequest
from cosched.v1.job_pb2 import GroupName as WireGroupName
from cosched.v1.job_pb2 import MateName as WireMateName
from cosched.v1.job_pb2 import PairName


def submission(name: str, *domains: str, **more) -> SubmitJobRequest:
    return SubmitJobRequest(script=b"#!/bin/sh\n", group=WireGroupName(name=name, domains=domains), **more)


def test_a_group_is_read_and_one_of_two_domains_is_a_pair():
    assert read_submission(submission("g", "mira", "eureka")).named == GroupName("g", ("eureka", "mira"))
    assert read_submission(submission("g", "b", "c", or_alone=True)).named == GroupName("g", ("b", "c"), True)
    assert read_submission(submission("g", "mira")).named == MateName("mira", "g")
    assert len(read_submission(submission("g", *(f"d{i}" for i in range(15)))).named.others) == 15


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (submission("g"), "group.domains[0]: is missing: name the domains of the other members"),
        (submission("g", "a", "b", "a"), "group.domains[2]: is named twice: a group has one job on each domain"),
        (submission("g", "a", "b/c"), "group.domains[1]: is not a domain name (1 to 64 of A-Z a-z 0-9 _ . -)"),
        (
            submission("g", *(f"d{i}" for i in range(16))),
            "group.domains[15]: is one too many: a group has at most 16 members, with the job itself",
        ),
        (
            submission("g h", "a", "b"),
            "group.name: the name of a group is 1 to 128 of A-Z a-z 0-9 and _ . : , + = @ / -",
        ),
        (
            submission("a:17", "a", "b"),
            "group.name: a name that ends in a number alone is taken for a job: add a letter",
        ),
        (
            submission("g", "a", "b", mates=[WireMateName(pair=PairName(name="p"))]),
            "group: excludes mates: a job has a mate, or is in a group that names all its members",
        ),
    ],
)
def test_a_group_that_cannot_be_is_refused_by_its_field(message, said):
    with pytest.raises(FieldError) as refused:
        read_submission(message)
    assert str(refused.value) == said
