"""What a job does at once when its mate is cancelled, or replaced: its domain is told so. No job asks now and then."""

import re

import pytest

from cosched.v1 import coscheduling_pb2 as wire
from tests.live.scripted_peer import MATE, QUEUING, ScriptedPeer
from tests.live.services import Pair, fill, noted, script_that_notes, script_that_waits, start_together, whys
from tests.live.test_pair import done
from tests.waiting import wait_until


@pytest.fixture
def held(make_pair):
    """Pairs whose job 1 of a holds for job 2 of b, which queues behind another."""

    def make(**settings) -> tuple[Pair, str]:
        pair = make_pair(scheme="hold", hold_check=0, **settings).start()
        script = script_that_notes(pair.folder)
        pair.go = fill(pair.b)
        with pair.a.client() as a, pair.b.client() as b:
            a.submit(script, pair="p")
            b.submit(script, pair="p")
            wait_until(lambda: (a.job(1).state, a.job(1).mates[0].id) == ("holding", "2"), "it holds")
        return pair, script

    return make


@pytest.mark.parametrize("while_away", [False, True])
def test_a_job_that_holds_starts_when_its_mate_is_cancelled_also_if_that_is_told_after_a_restart(held, while_away):
    pair, _ = held(successor_patience=0)
    if while_away:
        pair.a.kill()
    with pair.b.client() as b:
        b.cancel(2)
    if while_away:
        pair.b.restart()
        pair.a.start()
    wait_until(lambda: done(pair.a, 1), "its mate will not come")
    assert whys(pair.a) == ["its mate will not run: cancelled"]
    assert not pair.faults()


def test_a_job_that_holds_starts_when_its_mate_is_unlinked(held):
    pair, _ = held()
    with pair.b.client() as b:
        b.unlink(2)
    wait_until(lambda: done(pair.a, 1), "it has no mate any more")
    assert noted(pair.folder)[0][:3] == ("a", "1", "p")


def test_a_queued_job_hears_that_its_mate_has_started_alone_while_its_service_was_away(held):
    pair, _ = held(on_peer_unreachable="start", peer_grace=1, peer_patience=1)
    pair.b.kill()
    wait_until(lambda: done(pair.a, 1), "it starts alone")
    pair.b.start()
    with pair.b.client() as b:
        hears = "hears that its mate on a has changed, and asks"
        wait_until(lambda: hears in [event.text for event in b.events(0, ["2"], until_now=True)], "it is told")
        assert b.job(2).state == "queued"
        pair.go.touch()
        wait_until(lambda: done(pair.b, 2), "it starts at its turn")
    assert [start[:2] for start in noted(pair.folder)] == [("a", "1"), ("b", "2")]


def test_a_peer_that_cannot_tell_costs_no_more_than_one_check(make_service):
    """It answers UNIMPLEMENTED to news, and tells none: a job that holds asks now and then, and one call is made."""
    with ScriptedPeer("b") as peer:
        peer.answers |= {"GetMateStatus": QUEUING, "TryStartMate": wire.TryStartMateResponse(started=False)}
        service = make_service("a", scheme="hold", hold_check=1)
        service.listen_to_http()
        service.add_peer("b", peer.address)
        service.start()
        script = script_that_notes(service.folder)
        with service.client() as client:
            job = client.submit(script, mate=f"b:{MATE}")
            wait_until(lambda: client.job(job).state == "holding", "it holds")
            peer.answers["GetMateStatus"] = wire.GetMateStatusResponse(status=wire.MATE_STATUS_CANCELLED)
            wait_until(lambda: client.job(job).state == "completed", "it starts without its mate")
            peer.answers["GetMateStatus"] = QUEUING
            other = client.submit(script, mate=f"b:{MATE}")
            wait_until(lambda: client.job(other).state == "holding", "it holds")
            client.cancel(other)
            told = 'cosched_peer_calls_total{call="TellMembers",outcome="answered",peer="b"}'
            wait_until(lambda: service.metrics().get(told) == 1, "that is told, and counts as heard")
            assert client.domain().peers[0].state == "reachable"
        assert "cannot be told of jobs here" not in service.log


def test_another_job_takes_the_place_of_one_that_its_owner_has_cancelled_and_both_start_together(held):
    pair, script = held(successor_patience=600, successor_hold=600)
    with pair.a.client() as a, pair.b.client() as b:
        b.cancel(2)
        wait_until(lambda: a.job(1).reason == "Successor", "another is waited for")
        assert a.job(1).state == "holding"
        third = b.submit(script, pair="p")
        assert (third.mates[0].lookup, third.mates[0].id) == ("found", "1")
        wait_until(lambda: a.job(1).mates[0].id == "3", "it has another mate")
        pair.go.touch()
        wait_until(lambda: done(pair.a, 1) and done(pair.b, 3), "both ended")
    assert sorted(start[:3] for start in noted(pair.folder)) == [("a", "1", "p"), ("b", "3", "p")]
    assert start_together([pair.a, pair.b])


def test_another_job_that_comes_before_the_news_is_taken_once_its_predecessor_has_been_asked_for(held):
    """The domain of the job that holds is away when the mate is cancelled: it hears of it by the new job's question."""
    pair, script = held(successor_patience=600, successor_hold=600)
    pair.a.kill()
    with pair.b.client() as b:
        b.cancel(2)
        b.submit(script, pair="p")
        pair.a.start()
        pair.go.touch()
        wait_until(lambda: done(pair.a, 1) and done(pair.b, 3), "both ended")
    assert sorted(start[:3] for start in noted(pair.folder)) == [("a", "1", "p"), ("b", "3", "p")]


def test_one_command_submits_a_job_in_the_place_of_another_one_whose_mate_goes_on_holding(held):
    pair, script = held(successor_patience=600, successor_hold=600)
    (pair.folder / "job.sh").write_text(script.replace("\n", "\n#COSCHED --pair=p\n", 1))
    said = pair.b.run("submit", "--in-place-of", "2", "--fail-together", "job.sh", cwd=pair.folder)
    assert (said.stdout, said.stderr[:15]) == ("Submitted job 3 to b\n", "its mate is a:1")
    with pair.a.client() as a:
        wait_until(lambda: a.job(1).mates[0].id == "3", "it has another mate")
        assert a.job(1).holds.yields == 0, "it keeps its nodes"
    again = pair.b.run("submit", "--in-place-of", "2", "job.sh", cwd=pair.folder)
    assert again.stderr == "cosched: job 2 is CANCELLED: it cannot be changed\n"
    assert "then        fails if another fails" in pair.b.run("show", "3").stdout
    pair.go.touch()
    wait_until(lambda: done(pair.a, 1) and done(pair.b, 3), "both ended")
    assert start_together([pair.a, pair.b])


def test_who_cancels_a_job_hears_who_waits_for_another_one_and_until_when(held):
    pair, script = held(successor_patience=600, successor_hold=600)
    said = pair.b.run("cancel", "2")
    assert said.stdout == "job b:2 was cancelled\n"
    waits = r"a:1 waits until [-0-9]+ ([:0-9]+) for another in its place, then starts alone \(--final: now\)\n"
    found = re.fullmatch(waits, said.stderr)
    assert found, said.stderr
    with pair.a.client() as a:
        told = a.explain(1).job
        assert f"{told.successor.until.astimezone():%H:%M:%S}" == found[1]
        assert (told.successor.then, told.reason.kind) == ("starts alone", "awaits_successor")
    with pair.b.client() as b:
        b.submit(script, pair="p")
    assert pair.b.run("cancel", "--final", "3").stderr == ""
    wait_until(lambda: done(pair.a, 1), "nobody comes")


def test_terms_that_cannot_be_are_refused_in_one_line_and_move_nobody(make_pair):
    pair = make_pair(scheme="hold", hold_check=0).start()

    def submitted(service, *options):
        said = service.run("submit", "--pair", "q", *options, "-", text="#!/bin/sh\n")
        return said.returncode, said.stderr.removeprefix("cosched: ").rstrip("\n")

    assert submitted(pair.a, "--ends-with", "c") == (
        1, "--ends-with: c is not among the domains with which the job starts: b",
    )  # fmt: skip
    never = (
        "--together-for: counts only if the job is queued again with others, but it runs on: "
        "give --if-requeued=requeue, too"
    )
    assert submitted(pair.a, "--together-for", "10m") == (1, never)
    assert submitted(pair.a, "--ends-with", "b")[0] == 0
    with pair.a.client() as a, pair.b.client() as b:
        wait_until(lambda: a.job(1).reason == "MateUnsubmitted", "it holds")
        assert submitted(pair.b, "--ends-with", "a") == (
            1, "the job of pair q on a ends with this job, which would end with that one: leave out one --ends-with",
        )  # fmt: skip
        assert (a.job(1).state in ("ready", "holding"), b.jobs(["cancelled"])) == (True, [])
        assert submitted(pair.b, "--hold", "--fail-together")[0] == 0
        wait_until(lambda: a.job(1).mates[0].id == "2", "it has a mate")
        linked = pair.b.run("link", "2", "--pair", "q", "--ends-with", "a")
        assert (linked.returncode, "ends with this job" in linked.stderr) == (1, True), linked.stderr
        assert b.job(2).mates[0].terms.fail_together
        b.release(2)
    wait_until(lambda: done(pair.a, 1) and done(pair.b, 2), "both ended")
    assert start_together([pair.a, pair.b])
    assert not pair.b.faults()


def test_who_looks_at_a_running_job_sees_at_once_that_its_mate_was_cancelled(make_pair):
    pair = make_pair(hold_check=0).start()
    script = script_that_waits(pair.folder, pair.folder / "go")
    with pair.a.client() as a, pair.b.client() as b:
        a.submit(script, pair="p")
        b.submit(script, pair="p")
        wait_until(lambda: a.job(1).state == b.job(1).state == "running", "both run")
        assert a.job(1).mates[0].status == "running"
        b.cancel(1)
        wait_until(lambda: a.job(1).mates[0].status == "cancelled", "it is seen")
        assert a.job(1).state == "running"
    (pair.folder / "go").touch()
    wait_until(lambda: done(pair.a, 1), "it has ended")
