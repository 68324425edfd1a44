"""A mate that is none is refused with the reason, or waited for where nobody could know; a link can be mended."""

import grpc
import pytest

from cosched.client import ClientError
from cosched.client.jobs import JOB_STATES
from cosched.v1.domain_pb2 import SubmitJobRequest
from cosched.v1.domain_pb2_grpc import DomainServiceStub
from cosched.v1.job_pb2 import MateName
from cosched.words.wrong_mates import wrong_mate
from tests.live.services import fill, noted, script_that_notes, script_that_waits, wait_until

WAY_OUT = "; name another mate, or say --or-alone to let the job start alone"


@pytest.fixture
def pair(make_pair):
    return make_pair(scheme="hold").start()


def refusal(client, script, **named) -> str:
    with pytest.raises(ClientError) as refused:
        client.submit(script, **named)
    return refused.value.message


def test_a_wrong_mate_is_refused_with_the_reason(pair):
    script, go = script_that_notes(pair.folder), pair.folder / "go"
    with pair.a.client() as a, pair.b.client() as b:
        ended, runs = (b.submit(of, adoptable=True) for of in (script, script_that_waits(pair.folder, go)))
        named = b.submit(script, pair="p")
        a.submit(script, hold=True, pair="q")
        b.submit(script, pair="q")  # b:4, the mate of a:1
        b.submit(script)  # b:5, which has not said that it may be adopted
        wait_until(lambda: b.job(ended).state == "completed" and b.job(runs).state == "running")
        wait_until(lambda: b.job(named).state == "holding")
        wait_until(lambda: b.job("5").state == "completed")
        assert refusal(a, script, mate="b:999") == wrong_mate("b", "999", None, "unknown") + WAY_OUT
        assert refusal(a, script, mate="b:5") == wrong_mate("b", "5", None, "unknown") + WAY_OUT
        assert refusal(a, script, mate="b:1") == "b:1 has ended (completed)" + WAY_OUT
        assert refusal(a, script, mate="b:2") == "b:2 runs already" + WAY_OUT
        assert refusal(a, script, mate="b:3").startswith("b:3 waits for the job of a pair's name: give that name")
        assert refusal(a, script, mate="b:4") == "b:4 is the mate of job 1 already"
        assert refusal(a, script, mate="a:1") == "a is this domain: a mate is a job of another one (configured: b)"
        assert [job.id for job in a.jobs(JOB_STATES.values())] == ["1"], "nothing of them is left"
        assert {event.job for event in a.events(after=0, until_now=True)} == {"a:1"}
        assert a.submit(script, hold=True).id == "7", "and no id is given again"
        with pytest.raises(ClientError, match=r"b has no job 999 that this one may name: .*; name another mate"):
            a.link("1", "b:999")
        go.touch()


def test_the_retry_of_a_refused_submission_is_refused_as_well(pair):
    request = SubmitJobRequest(request_id="r", script=b"#!/bin/sh\n")
    request.mates.append(MateName(job={"domain": "b", "job_id": "999"}))
    with grpc.insecure_channel(pair.a.socket) as channel:
        submit = DomainServiceStub(channel).SubmitJob
        for _ in range(2):
            with pytest.raises(grpc.RpcError) as refused:
                submit(request, wait_for_ready=True)
            assert refused.value.code() is grpc.StatusCode.FAILED_PRECONDITION
            assert "b has no job 999" in refused.value.details()
    assert "no job 1" in pair.a.run("show", "1").stderr
    assert not noted(pair.folder)


def test_who_says_so_starts_alone(pair):
    script = script_that_notes(pair.folder)
    said = pair.a.run("submit", "-", text=script.replace("\n", "\n#COSCHED --mate=b:999 --or-alone\n", 1))
    assert said.stderr == wrong_mate("b", "999", None, "unknown") + ": it starts alone\n"
    with pair.a.client() as a:
        wait_until(lambda: a.job("1").state == "completed")
        assert a.job("1").mates[0].or_alone
    assert "started: its mate's domain knows no such pair: b has no job 999" in pair.a.run("show", "1").stdout


def test_a_mate_that_nobody_could_check_is_checked_once_its_domain_answers_and_can_be_mended(make_pair):
    pair = make_pair(scheme="hold", on_peer_unreachable="hold")
    pair.a.start()
    script = script_that_notes(pair.folder)
    said = pair.a.run("submit", "--mate", "b:999", "-", text=script)
    assert said.stderr == "no answer from b about its mate yet: it is asked again as soon as it answers\n"
    pair.b.start()
    with pair.a.client() as a, pair.b.client() as b:
        wait_until(lambda: a.job("1").mates[0].lookup == "no_pair", "it is known to be wrong")
        assert a.job("1").mates[0].problem == "unknown"
        assert "b has no job 999" in pair.a.run("show", "1").stdout
        go = fill(pair.b)
        mate = b.submit(script, adoptable=True)
        linked = a.link("1", mate)
        assert linked.mates[0].id == mate.id
        go.touch()
        wait_until(lambda: a.job("1").state == b.job(mate).state == "completed", "both ran")
        assert "asked by" in pair.a.run("show", "1").stdout + pair.b.run("show", mate.id).stdout


def test_a_job_whose_mate_turns_out_to_be_none_waits_and_says_so(make_pair):
    pair = make_pair(scheme="hold", on_peer_unreachable="yield")
    pair.a.start()
    with pair.a.client() as a:
        job = a.submit(script_that_notes(pair.folder), mate="b:999")
        other = a.submit(script_that_notes(pair.folder), mate="b:998")
        pair.b.start()
        for waits in (job, other):
            wait_until(lambda: (a.job(waits).state, a.job(waits).reason) == ("queued", "MateUnknown"))  # noqa: B023
        assert not noted(pair.folder)
        assert a.link(other, "b:998", or_alone=True).mates[0].or_alone
        wait_until(lambda: a.job(other).state == "completed")
        assert pair.a.run("unlink", job.id).stdout.startswith("job a:1 has no mate any more, and ")
        wait_until(lambda: a.job(job).state == "completed")


def test_a_typo_in_a_pairs_name_is_mended_while_the_job_holds(pair):
    script = script_that_notes(pair.folder)
    with pair.a.client() as a, pair.b.client() as b:
        first, second = a.submit(script, pair="tvice"), b.submit(script, pair="twice")
        wait_until(lambda: a.job(first).state == b.job(second).state == "holding")
        mended = pair.a.run("link", first.id, "--pair", "twice")
        assert mended.stdout == "job a:1 was linked: its mate is b:1 (was tvice@b)\n"
        wait_until(lambda: a.job(first).state == b.job(second).state == "completed")
        assert "linked with b:1 instead of tvice@b" in pair.a.run("show", first.id).stdout
    assert [start[:3] for start in sorted(noted(pair.folder))] == [("a", "1", "twice"), ("b", "1", "twice")]


def test_what_a_release_does_and_what_ends_a_wait_is_said(pair):
    with pair.a.client() as a:
        job = a.submit(script_that_notes(pair.folder), pair="p")
        wait_until(lambda: a.job(job).state == "holding")
        said = pair.a.run("release", job.id).stdout
        assert said.startswith("the hold of job a:1 was ended by force")
        assert said.endswith("to end its wait, link, unlink (it starts alone) or cancel it\n")
        wait_until(lambda: a.job(job).state == "holding", "it holds again")
        assert pair.a.run("unlink", job.id).stdout == "job a:1 has no mate any more, and starts at once, alone\n"
