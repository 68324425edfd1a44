"""A job with a mate that stops another one in a real service (heterogeneous.md, With mates)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.live.services import Pair, fill, noted, script_that_waits
from tests.live.test_heterogeneous import heterogeneous
from tests.waiting import wait_until

pytestmark = pytest.mark.papers

SITE = 'preemptive = true\n\n[[machines]]\nclass = "fast"\nnames = ["f1"]\n'
STUBBORN = """#!/bin/bash
trap 'touch {folder}/asked' TERM
echo $$ > {folder}/runs
while [ ! -e {folder}/never ]; do sleep 0.1; done
"""


def test_a_pair_starts_once_nothing_is_left_of_a_run_that_ignores_its_end(make_pair, tmp_path: Path) -> None:
    """ "A job with mates starts only on nodes that are free": its mate holds until the `grace` of the run is over."""
    pair = preempting(make_pair, scheme="hold", max_clock_offset=0)
    end, parted = tmp_path / "end", tmp_path / "parted"
    notes, looks = "#!/bin/bash\n", f"kill -0 $(cat {tmp_path / 'runs'}) 2> /dev/null && touch {parted}\n"
    script = script_that_waits(pair.folder, end).replace(notes, notes + looks)
    with pair.a.client() as a, pair.b.client() as b:
        low = a.submit(STUBBORN.format(folder=tmp_path), columns={"job_class": "sort", "priority": "low"}).id
        wait_until((tmp_path / "runs").exists, "it runs")
        columns = {"job_class": "sort", "priority": "high"}
        here = a.submit(script, columns=columns, pair="p").id
        there = b.submit(script, pair="p").id
        wait_until(lambda: len(noted(pair.folder)) == 2, "both start")
        assert (tmp_path / "asked").exists()
        assert not parted.exists(), "one of them has started while the other's machine was not free"
        assert (a.job(here).state, b.job(there).state) == ("running", "running")
        starts = pair.a.run("show", here).stdout
        end.touch()
        wait_until(lambda: a.job(here).state == b.job(there).state == "completed", "both end")
        a.cancel(low)
    assert "desynchronised" not in starts
    assert not pair.a.faults()


def preempting(make_pair, **settings: object) -> Pair:
    """A domain of one machine whose jobs of high priority stop those of low priority, and another domain."""
    pair = make_pair(**settings)
    pair.a.listen_to_http()
    heterogeneous(pair.a, SITE, "job_class,resource,seconds\nsort,f1,30\n", slots=1, grace=2)
    return pair.start()


def test_a_run_is_stopped_only_once_the_mate_has_agreed_on_an_instant_after_its_end(make_pair, tmp_path: Path) -> None:
    """Before, it was stopped for a mate that could not start, and what it had done was lost."""
    pair = preempting(make_pair, scheme="yield", heartbeat_interval=1, max_clock_offset=5)
    go, end = fill(pair.b), tmp_path / "end"
    script, columns = script_that_waits(pair.folder, end), {"job_class": "sort", "priority": "high"}
    with pair.a.client() as a, pair.b.client() as b:
        low = a.submit(STUBBORN.format(folder=tmp_path), columns={"job_class": "sort", "priority": "low"}).id
        wait_until((tmp_path / "runs").exists, "it runs")
        wait_until(lambda: a.domain().peers[0].clock_offset is not None, "clocks are compared")
        there = b.submit(script, pair="p").id
        here = a.submit(script, columns=columns, pair="p").id
        wait_until(lambda: list(a.events(0, [here], kinds=["yielded"], until_now=True)), "it asks in vain")
        assert (a.job(low).state, (tmp_path / "asked").exists()) == ("running", False)
        a.cancel(here)
        b.cancel(there)
        go.touch()
        wait_until(lambda: b.job(1).state == "completed", "there is room")
        there = b.submit(script, pair="q").id
        here = a.submit(script, columns=columns, pair="q").id
        wait_until(lambda: len(noted(pair.folder)) == 2, "both start")
        events = [(event.kind, str(event.job)) for event in a.events(0, until_now=True)]
        said, metrics = pair.a.run("show", here).stdout, pair.a.metrics()
        [agreed] = (metrics[key] for key in metrics if key.startswith("cosched_pair_starts_total") and "agreed" in key)
        end.touch()
        wait_until(lambda: a.job(here).state == b.job(there).state == "completed", "both end")
        a.cancel(low)
    assert events.index(("ready", f"a:{here}")) < events.index(("warning", f"a:{low}")), events
    assert re.search("its mate could start|its holding mate started", said)  # by who of the two has asked
    assert agreed == 1.0, "they have agreed on an instant"
    assert not pair.faults()
