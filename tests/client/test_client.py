"""The client that waits: what it asks, how answers read, what is repeated."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import quote

import grpc
import pytest

from cosched.client import Client, ClientError, Unreachable
from cosched.service.wire.errors import Refusal
from cosched.v1 import coscheduling_pb2 as wire
from cosched.v1 import domain_pb2, job_pb2
from tests.client.fake_domain import EPOCH, EUREKA_3, serve

SCRIPT = "#!/bin/sh\ntrue\n"
START = datetime(2026, 1, 1, tzinfo=UTC)


def requests(domain, kind):
    return [request for request in domain.requests if isinstance(request, kind)]


def test_a_script_may_be_a_file_and_a_time_limit_a_timedelta(client, domain, tmp_path):
    """All else that may be asked for: tests/cli/client/test_submit.py."""
    (tmp_path / "job.sh").write_text(SCRIPT)
    client.submit(tmp_path / "job.sh", time_limit=timedelta(hours=1), directory=tmp_path)
    [request] = requests(domain, domain_pb2.SubmitJobRequest)
    assert (request.script, request.time_limit.seconds) == (SCRIPT.encode(), 3600)
    assert request.working_directory == str(tmp_path)


def test_what_is_not_given_is_left_to_the_domain(client, domain):
    job = client.submit(SCRIPT)
    [request] = requests(domain, domain_pb2.SubmitJobRequest)
    assert not request.HasField("time_limit")
    assert (request.name, request.working_directory, len(request.mates)) == ("", "", 0)
    assert (job.id, job.domain, job.state, job.time_limit, job.mates) == ("17", "intrepid", "queued", None, ())


def test_a_job_is_read_with_datetimes_and_words(client, domain):
    raw = domain.add(state=job_pb2.JOB_STATE_RUNNING, name="flow", nodes=2, node_names=["n1", "n2"], exit_code=0)
    raw.started_at.seconds, raw.started_at.nanos = EPOCH + 5, 250_000_000
    raw.time_limit.seconds = 90
    mate = raw.mates.add(lookup=wire.MATE_LOOKUP_FOUND, status=wire.MATE_STATUS_RUNNING, job=EUREKA_3)
    mate.name.pair.name, mate.gap.seconds = "run7", 2
    raw.holds.holds, raw.holds.hold_until.seconds = 1, EPOCH + 60
    job = client.job("intrepid:17")
    assert (str(job), job.state, job.node_names, job.exit_code) == ("intrepid:17", "running", ("n1", "n2"), 0)
    assert (job.submitted_at, job.started_at) == (START, START + timedelta(seconds=5.25))
    assert (job.ended_at, job.time_limit) == (None, timedelta(seconds=90))
    [seen] = job.mates
    assert (str(seen), seen.pair, seen.lookup, seen.status) == ("eureka:3", "run7", "found", "running")
    assert (seen.gap, seen.heard_at) == (timedelta(seconds=2), None)
    assert (job.holds.holds, job.holds.until, job.holds.forever) == (1, START + timedelta(seconds=60), False)


def test_a_link_may_name_a_whole_group(client, domain):
    domain.add()
    client.link(17, group="run7", members=["eureka", "mira"])
    [request] = requests(domain, domain_pb2.LinkJobsRequest)
    assert (request.group.name, list(request.group.domains)) == ("run7", ["eureka", "mira"])
    assert not request.HasField("mate")


def test_a_job_is_waited_for_until_it_has_started_or_ended(client, domain):
    domain.add(state=job_pb2.JOB_STATE_RUNNING)
    assert client.wait(17, started=True).state == "running"
    asked = len(domain.requests)
    with pytest.raises(TimeoutError, match="job intrepid:17 is running"):
        client.wait(17, timeout=0.7)
    assert asked + 2 <= len(domain.requests) <= asked + 3  # at once, after 0.2 s and, on a quiet host, 0.4 s more
    domain.jobs["17"].state = job_pb2.JOB_STATE_FAILED
    assert client.wait(17, timeout=0).state == "failed"


def test_a_word_of_a_newer_version_is_unknown(client, domain):
    domain.add(state=77)
    assert client.job(17).state == "unknown"


def test_a_view_is_comparable_hashable_and_shown(client, domain):
    domain.add(name="flow")
    one, other = client.job(17), client.job(17)
    assert one == other
    assert len({one, other}) == 1
    assert repr(one).startswith("Job(domain='intrepid', id='17', name='flow', owner='alice', state='queued', nodes=1")
    assert one.as_dict()["holds"]["yields"] == 0
    assert one != "intrepid:17"


def test_a_page_that_got_no_answer_is_asked_for_again(client, domain):
    domain.page_size = 3
    for _ in range(8):
        domain.add()
    jobs = client.iter_jobs()
    first = next(jobs)
    domain.failures = [grpc.StatusCode.UNAVAILABLE]
    assert [job.id for job in [first, *jobs]] == [str(number) for number in range(17, 25)]
    assert domain.failures == []


def test_a_job_is_named_in_three_ways(client, domain):
    domain.add()
    for name in (17, "17", "intrepid:17", client.job(17)):
        assert client.job(name).id == "17"


def test_a_lost_answer_changes_nothing_twice(client, domain):
    domain.lost_answers = 2
    assert client.submit(SCRIPT).id == "17"
    assert list(domain.jobs) == ["17"]
    assert len({request.request_id for request in requests(domain, domain_pb2.SubmitJobRequest)}) == 1
    assert len(domain.requests) == 3


GONE, LATE = grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED


@pytest.mark.parametrize("failure", [GONE, LATE, Refusal(GONE, "STARTING", "not yet")])
def test_what_got_no_answer_is_asked_again(client, domain, failure):
    domain.failures = [failure]
    assert client.domain().name == "intrepid"


def test_attempts_are_bounded(client, domain):
    domain.failures = [Refusal(grpc.StatusCode.UNAVAILABLE, "STALLED", "the disk is full")] * 9
    with pytest.raises(Unreachable, match="the disk is full") as raised:
        client.domain()
    assert raised.value.reason == "STALLED"
    assert len(domain.requests) == 4


def test_a_refusal_has_reason_message_and_metadata(client, domain):
    domain.add(state=job_pb2.JOB_STATE_COMPLETED)
    with pytest.raises(ClientError) as raised:
        client.cancel(17)
    assert not isinstance(raised.value, Unreachable)
    assert (raised.value.reason, str(raised.value)) == ("JOB_STATE", "job 17 has ended")
    assert raised.value.metadata == {"state": "completed"}
    assert len(domain.requests) == 1


def test_an_unreachable_peer_is_the_answer_and_not_asked_for_again(client, domain):
    domain.failures = [Refusal(grpc.StatusCode.UNAVAILABLE, "PEER_UNREACHABLE", "eureka gives no answer")]
    with pytest.raises(ClientError, match="eureka") as raised:
        client.link(17, "eureka:3")
    assert not isinstance(raised.value, Unreachable)


def test_a_domain_that_is_busy_is_asked_again(client, domain, monkeypatch):
    monkeypatch.setattr("cosched.client.attempts.BUSY_PAUSES", (0.0, 0.0))
    busy = Refusal(grpc.StatusCode.RESOURCE_EXHAUSTED, "TOO_MANY_CONNECTIONS", "too many of yours")
    domain.failures = [busy, busy]
    assert client.domain().name == "intrepid"
    domain.failures = [busy] * 3
    with pytest.raises(ClientError, match="too many of yours") as raised:
        client.domain()
    assert raised.value.reason == "TOO_MANY_CONNECTIONS"


def test_an_error_that_is_not_cosched_s_own(client, domain):
    domain.failures = [grpc.StatusCode.RESOURCE_EXHAUSTED]
    with pytest.raises(ClientError) as raised:
        client.domain()
    assert raised.value.reason == "RESOURCE_EXHAUSTED"


def test_a_socket_with_an_unusual_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a b#c?.sock", "ü%20.sock"):
        with serve(f"unix:{quote(name)}"), Client(f"unix:{name}") as client:
            assert client.domain().name == "intrepid"


@pytest.mark.parametrize("server", ["", "unix:", "somewhere", "host:port", "http://host:1"])
def test_an_address_that_is_none(server):
    with pytest.raises(ValueError, match=r"unix:PATH nor HOST:PORT|no domain is named"):
        Client(server)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"mate": "3"}, "DOMAIN:ID expected"),
        ({"mate": "eureka:3", "pair": "run7"}, "one of the two"),
        ({"mate": "eureka:3", "pair_domain": "eureka"}, "needs the name of the pair"),
        ({"pair": ""}, "cannot be the name of a pair"),
        ({"pair": "bad name!"}, "1 to 128 of A-Z a-z 0-9 and _"),
    ],
)
def test_mates_that_cannot_be_meant(client, domain, arguments, problem):
    with pytest.raises(ValueError, match=problem):
        client.submit(SCRIPT, **arguments)
    assert domain.requests == []


@pytest.mark.parametrize(
    ("ask", "kind", "problem"),
    [
        (lambda client: client.submit("job.sh"), ValueError, "give a Path"),
        (lambda client: client.submit(Path("none.sh")), FileNotFoundError, "none.sh"),
        *((lambda client, job=job: client.job(job), ValueError, "is not a job") for job in ("", ":17", "eureka:")),
        (lambda client: client.jobs(states=["waiting"]), ValueError, "'waiting' is not one of queued, ready"),
        (lambda client: client.submit(SCRIPT, if_requeued="again"), ValueError, "'again' is not one of continue, requ"),
        (lambda client: client.link(17, "a:3", members=["a"]), ValueError, "need the name of their group"),
        (lambda client: client.link(17, "a:3", group="g", members=["a", "b"]), ValueError, "or is in a group"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anybody_is_asked(client, ask, kind, problem):
    with pytest.raises(kind, match=problem):
        ask(client)
