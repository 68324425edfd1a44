"""Two services tell when jobs start and why they wait: their own, and each other's mates."""

from datetime import timedelta

import pytest

from cosched.client import ClientError
from tests.live.services import script_that_waits, wait_until

HOUR = timedelta(hours=1)


@pytest.fixture
def pair(make_pair):
    return make_pair(scheme="hold", release_interval="10m", release_jitter=0).start()


def test_a_queue_behind_a_long_job_and_a_pair(pair):
    script = script_that_waits(pair.folder, pair.folder / "go")
    with pair.a.client() as a, pair.b.client() as b:
        busy = a.submit(script, nodes=3, time_limit=HOUR)
        wait_until(lambda: a.job(busy).state == "running")
        alone = a.submit(script, nodes=2, time_limit=HOUR)
        told = a.explain(alone)
        assert (told.job.position, told.job.queued, told.mates, told.together) == (1, 1, (), None)
        assert (told.job.reason.kind, told.job.reason.detail) == ("nodes_busy", {"required": 2, "available": 1})
        assert told.job.reason.text == "it needs 2 nodes, 1 is free"
        assert told.job.start.source == "plan"
        assert abs(told.job.start.at - a.job(busy).started_at - HOUR) < timedelta(seconds=2)

        second = b.submit(script, nodes=2, pair="p", time_limit=HOUR)
        wait_until(lambda: b.job(second).state == "holding")
        told = b.explain(second)
        assert told.job.reason.detail == {"domain": "a", "pair": "p", "held": 2}
        assert told.job.reason.change == "cosched submit --pair p there; cosched unlink 1 lets it start without"
        assert (told.job.start.source, told.together) == ("has_nodes", None)
        assert "not known which job of a" in told.mates[0].problem

        first = a.submit(script, nodes=4, pair="p", time_limit=HOUR)
        wait_until(lambda: b.job(second).reason == "MateQueuing")
        told = b.explain(second)
        assert told.job.reason.kind == "mate_waits"
        assert {"mate": "a:3", "held": 2}.items() <= told.job.reason.detail.items()
        assert told.mates[0].reason.detail == {"required": 4, "available": 1}
        assert abs(told.together.at - a.job(busy).started_at - 2 * HOUR) < timedelta(seconds=2)
        assert told.mates[0].start.at == told.together.at
        assert a.explain(first).together.at == told.together.at
        assert a.explain(first).mates[0].reason.kind == "mate_waits"

        held = a.submit(script, hold=True)
        assert a.explain(held).job.reason.change == "cosched release 4"
        assert [one.job.id for one in a.explain_all(["1", "2", "3", "4", "99"])] == ["1", "2", "3", "4"]
        with pytest.raises(ClientError) as refused:
            a.explain("99")
        assert refused.value.reason == "JOB_NOT_FOUND"
        starts = pair.a.run("queue", "--start").stdout.splitlines()
        assert [line.split()[0] for line in starts[1:]] == ["2", "3", "4"]
    assert not pair.faults()
