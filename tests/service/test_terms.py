"""What a job does when others end, in messages of its owner: what is read, written and refused."""

import pytest

from cosched.core.protocol import NO_TERMS, Terms
from cosched.core.settings import OnMemberRequeued
from cosched.service.wire.fields import FieldError
from cosched.service.wire.submissions import read_submission
from cosched.service.wire.terms import read_terms, write_terms
from cosched.v1 import domain_pb2, job_pb2

ALL = Terms(("b", "c"), True, OnMemberRequeued.REQUEUE, 600)


@pytest.mark.parametrize("terms", [NO_TERMS, ALL, Terms(if_requeued=OnMemberRequeued.END), Terms(together_for=1)])
def test_what_is_written_is_read_and_no_terms_are_nothing(terms):
    message = job_pb2.Mate()
    write_terms(message.terms, terms)
    assert read_terms(message.terms) == terms
    assert message.HasField("terms") is (terms != NO_TERMS)


@pytest.mark.parametrize(
    ("wrong", "field", "why"),
    [
        ({"ends_with": ["b", "b"]}, "terms.ends_with", "names a domain twice"),
        ({"ends_with": [""]}, "terms.ends_with", ""),
        ({"ends_with": [f"d{number}" for number in range(16)]}, "terms.ends_with", "names 15 domains at most, not 16"),
        ({"if_requeued": 99}, "terms.if_requeued", "is not known here"),
        ({"together_for": {"seconds": 0}}, "terms.together_for", "is not a number of whole seconds from 1 to "),
        ({"together_for": {"seconds": 1, "nanos": 1}}, "terms.together_for", "is not a number of whole seconds"),
        ({"together_for": {"seconds": 1 << 40}}, "terms.together_for", "is not a number of whole seconds"),
    ],
)
def test_what_cannot_be_is_refused_by_the_name_of_its_field(wrong, field, why):
    with pytest.raises(FieldError) as refused:
        read_terms(job_pb2.Terms(**wrong))
    assert str(refused.value).startswith(f"{field}: {why}")


def test_terms_need_others():
    terms = job_pb2.Terms(fail_together=True)
    request = domain_pb2.SubmitJobRequest(request_id="1", script=b"#!/bin/sh\n", terms=terms)
    with pytest.raises(FieldError, match="terms: has no effect without a mate or a group"):
        read_submission(request)
    request.in_place_of.job_id = "17"
    assert read_submission(request).terms.fail_together
