"""`cosched cancel`, `link`, `unlink` and `release`."""

import pytest

from cosched.v1 import coscheduling_pb2, domain_pb2, job_pb2


def test_cancel(cosched, domain):
    domain.add()
    domain.add(state=job_pb2.JOB_STATE_RUNNING)
    result = cosched("cancel", "17", "intrepid:18")
    assert result.stderr == ""
    assert result.stdout == "job intrepid:17 was cancelled\njob intrepid:18 is being cancelled\n"


def test_all_are_tried(cosched, domain):
    domain.add(state=job_pb2.JOB_STATE_COMPLETED)
    domain.add()
    result = cosched("cancel", "17", "99", "18", exit_code=1)
    assert result.stderr == "cosched: 17: job 17 has ended\ncosched: 99: there is no job 99\n"
    assert result.stdout == "job intrepid:18 was cancelled\n"


def test_link_unlink_release(cosched, domain):
    domain.add()
    domain.mate_lookup = coscheduling_pb2.MATE_LOOKUP_FOUND
    assert cosched("link", "17", "eureka:3").stdout == ("job intrepid:17 was linked: its mate is eureka:3 (queuing)\n")
    assert cosched("unlink", "17").stdout == "job intrepid:17 has no mate any more, and will start alone\n"
    domain.mate_lookup = coscheduling_pb2.MATE_LOOKUP_UNSUBMITTED
    said = cosched("link", "17", "--pair", "run7", "--pair-domain", "eureka").stdout
    assert said == "job intrepid:17 was linked: its mate is not submitted yet to eureka\n"
    assert domain.jobs["17"].mates[0].name.pair.name == "run7"
    said = cosched("release", "17").stdout
    assert said.startswith("the hold of job intrepid:17 was ended by force: it may hold whenever it is selected")
    domain.jobs["17"].reason = "JobHeldUser"
    assert cosched("release", "17").stdout == "job intrepid:17 may be scheduled now\n"


def test_a_link_says_what_the_job_does_when_others_end_and_show_tells_it(cosched, domain):
    domain.add()
    options = "--ends-with", "eureka", "--fail-together", "--if-requeued", "requeue", "--together-for", "10m"
    cosched("link", "17", "eureka:3", *options)
    asked = [request.terms for request in domain.requests if isinstance(request, domain_pb2.LinkJobsRequest)]
    domain.jobs["17"].mates[0].terms.CopyFrom(asked[0])
    requeued = "is queued again if another is queued again, within 10 min of its start"
    assert f"then        ends with eureka; fails if another fails; {requeued}\n" in cosched("show", "17").stdout
    domain.jobs["17"].mates[0].terms.Clear()
    domain.jobs["17"].mates[0].terms.if_requeued = job_pb2.IF_REQUEUED_CONTINUE
    assert "then        runs on if another is queued again\n" in cosched("show", "17").stdout


def test_what_is_refused(refused, domain):
    domain.add()
    assert refused("unlink", "17", exit_code=1) == "there is no such mate"


@pytest.mark.parametrize(
    "arguments",
    [
        ("cancel",),
        ("cancel", ""),
        ("cancel", "intrepid:"),
        ("link", "17"),
        ("link", "17", "3"),
        ("link", "17", "eureka:3", "--pair", "x"),
        ("link", "17", "eureka:3", "--pair-domain", "eureka"),
        ("link", "17", "--group", "run7"),
        ("link", "17", "eureka:3", "--with", "eureka"),
        ("link", "17", "--pair", "x", "--group", "run7", "--with", "eureka"),
        ("unlink",),
        ("release", "17", "18"),
    ],
)
@pytest.mark.usefixtures("domain")
def test_wrong_usage(cosched, arguments):
    assert f"Try 'cosched {arguments[0]} -h'" in cosched(*arguments, exit_code=2).stderr
