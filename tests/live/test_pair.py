"""A pair of services and a job on each: the shortest tour."""

from datetime import timedelta

import pytest

from tests.live.services import noted, script_that_notes, wait_until


def done(service, *jobs):
    with service.client() as client:
        return all(client.job(job).state in ("completed", "failed", "cancelled") for job in jobs)


@pytest.mark.parametrize("scheme", ["hold", "yield", "meet"])
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
        both = (a, first), (b, second)
        wait_until(lambda: all(client.job(job).mates[0].gap is not None for client, job in both), "both know the gap")
        assert abs(sum((client.job(job).mates[0].gap for client, job in both), timedelta())) < timedelta(seconds=1)
    assert sorted(start[:3] for start in noted(pair.folder)) == [("a", "1", "p"), ("b", "1", "p")]
