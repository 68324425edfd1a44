"""Jobs that run follow their mates: they end with them, fail with them, and are queued again with them."""

import pytest

from tests.live.owners import preemptive
from tests.live.services import Pair, noted, script_that_waits, start_together, wait_until

FOR_GOOD = "#!/bin/sh\nexec sleep 3600\n"


def state(client, job: str) -> str:
    return str(client.job(job).state)


def ended(client, job: str) -> str:
    """How the job's end is told."""
    [event] = client.events(0, [job], kinds=["ended"], until_now=True)
    return str(event.text)


def run(pair: Pair, script: str, **of_b) -> tuple[str, str]:
    """A pair that runs; `of_b`: what the job of b says."""
    with pair.a.client() as a, pair.b.client() as b:
        jobs = b.submit(FOR_GOOD, pair="p", **of_b).id, a.submit(script, pair="p").id
        wait_until(lambda: (state(b, jobs[0]), state(a, jobs[1])) == ("running", "running"), "both run")
    return jobs[1], jobs[0]


@pytest.mark.parametrize("away", [False, True])
def test_a_job_ends_with_its_mate_also_if_its_service_was_away_meanwhile(make_pair, away):
    pair = make_pair(scheme="hold").start()
    go = pair.folder / "go"
    here, there = run(pair, script_that_waits(pair.folder, go), ends_with=["a"])
    if away:
        pair.b.kill()
    with pair.a.client() as a, pair.b.client() as b:
        go.touch()
        wait_until(lambda: state(a, here) == "completed", "the main job ends")
        if away:
            pair.b.start()
        wait_until(lambda: state(b, there) == "completed", "the other one ends with it")
        assert ended(b, there) == "completed: ended with its mate"
    assert not pair.faults()


def test_a_job_fails_together_with_its_mate(make_pair):
    pair = make_pair(scheme="hold").start()
    go = pair.folder / "go"
    _, there = run(pair, script_that_waits(pair.folder, go) + "exit 3\n", fail_together=True)
    go.touch()
    with pair.b.client() as b:
        wait_until(lambda: state(b, there) == "failed", "it fails, too")
        assert ended(b, there) == "failed: its mate failed"


def test_a_job_whose_scheduler_takes_its_nodes_and_its_mate_start_again_together(make_pair):
    pair = make_pair(scheme="hold", on_member_requeued="requeue")
    preemptive(pair.a)
    pair.start()
    go, other = pair.folder / "go", pair.folder / "other"
    here, there = run(pair, script_that_waits(pair.folder, go), ends_with=["a"])
    with pair.a.client() as a, pair.b.client() as b:
        short = a.submit(script_that_waits(pair.folder, other), nodes=3, time_limit=10)
        wait_until(lambda: "queued again: its mate was queued again" in told(b, there), "its mate is told")
        assert state(a, here) in ("queued", "ready", "holding")
        other.touch()
        wait_until(lambda: state(a, short) == "completed")
        wait_until(lambda: (state(a, here), state(b, there)) == ("running", "running"), "both run again")
        go.touch()
        wait_until(lambda: (state(a, here), state(b, there)) == ("completed", "completed"), "both end")
    assert start_together([pair.a, pair.b])
    assert [start[1] for start in noted(pair.folder) if start[2] == "p"] == [here, here]
    assert not pair.faults()


def told(client, job: str) -> str:
    """What is told of a job as warnings."""
    return "; ".join(event.text for event in client.events(0, [job], kinds=["warning"], until_now=True))
