"""A pair of services and a job on each: the shortest tour."""

import pytest

from tests.live.services import noted, script_that_notes, script_that_waits, wait_until


def done(service, *jobs):
    with service.client() as client:
        return all(client.job(job).state in ("completed", "failed", "cancelled") for job in jobs)


@pytest.mark.parametrize("scheme", ["hold", "yield"])
def test_two_jobs_with_a_pair_name_start_together(make_pair, scheme):
    pair = make_pair(scheme=scheme).start()
    script = script_that_notes(pair.folder)
    with pair.a.client() as a, pair.b.client() as b:
        first = a.submit(script, pair="p")
        assert first.mates[0].lookup == "unsubmitted"
        waiting = ("holding" if scheme == "hold" else "queued", "MateUnsubmitted")
        wait_until(lambda: ((job := a.job(first)).state, job.reason) == waiting, "it waits")
        second = b.submit(script, pair="p")
        assert second.mates[0].lookup == "found"
        wait_until(lambda: done(pair.a, first) and done(pair.b, second), "both ended")
        assert a.job(first).state == b.job(second).state == "completed"
    assert sorted(start[:3] for start in noted(pair.folder)) == [("a", "1", "p"), ("b", "1", "p")]


def test_a_killed_service_lets_the_other_start_its_job_alone(make_pair):
    pair = make_pair(scheme="hold", release_interval="1s").start()
    script = script_that_notes(pair.folder)
    with pair.a.client() as a:
        first = a.submit(script, pair="p")
        wait_until(lambda: a.job(first).reason == "MateUnsubmitted")
        pair.b.kill()
        wait_until(lambda: done(pair.a, first), "it started alone")
    shown = pair.a.run("show", first.id).stdout
    assert "cannot be reached" in shown


def test_a_restarted_service_goes_on_where_it_was(make_pair):
    pair = make_pair(scheme="hold").start()
    script, go = script_that_notes(pair.folder), pair.folder / "go"
    with pair.a.client() as a:
        held = a.submit(script, pair="p")
        wait_until(lambda: a.job(held).state == "holding")
        running = a.submit(script_that_waits(pair.folder, go))
        wait_until(lambda: a.job(running).state == "running")
        until = a.job(held).holds.until
    pair.a.restart()
    with pair.a.client() as a, pair.b.client() as b:
        assert a.job(held).state == "holding"
        assert a.job(held).holds.until == until
        mate = b.submit(script, pair="p")
        go.touch()
        wait_until(lambda: done(pair.a, held, running) and done(pair.b, mate))
    assert len(noted(pair.folder)) == 3
