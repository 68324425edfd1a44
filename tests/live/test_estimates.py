"""How good estimates have been: two services make them, jobs start, and the interval shows, also after a restart.

A service looks once a minute what it expects, and what has come of that: so this takes some minutes.
"""

from datetime import timedelta

import pytest

from cosched.client import Estimate
from tests.live.services import Service, script_that_notes, script_that_waits, wait_until

pytestmark = pytest.mark.soak
PAIRS = 7
LONG, SHORT = timedelta(minutes=4), timedelta(seconds=5)


def kept(service: Service, condition: str) -> int:
    """How many jobs of which estimates are on record."""
    ((count,),) = service.rows(f"SELECT count(DISTINCT job) FROM estimates WHERE {condition}")
    return count


def test_estimates_are_told_with_how_good_they_have_been(make_pair):
    pair = make_pair(scheme="hold", release_interval=0, max_held_fraction=1)
    pair.b.config["manager"]["slots"] = PAIRS + 1  # all mates hold there, and so it is known when they can start
    pair.start()
    note = script_that_notes(pair.folder)
    with pair.a.client() as a, pair.b.client() as b:
        first = a.submit(script_that_waits(pair.folder, pair.folder / "go"), nodes=4, time_limit=LONG)
        for number in range(PAIRS):
            a.submit(note, nodes=4, pair=f"p{number}", time_limit=SHORT)
            b.submit(note, nodes=1, pair=f"p{number}", time_limit=SHORT)
        mine = [job for job in a.jobs() if job.id != first.id]
        assert a.explain(mine[0]).together.earliest is None, "nothing is known of estimates yet"
        wait_until(lambda: kept(pair.a, "kind = 0") == kept(pair.a, "kind = 1") == PAIRS, "the estimates of all pairs")
        (pair.folder / "go").touch()
        wait_until(lambda: all(a.job(job).state == "completed" for job in mine), "all pairs to have run")
        wait_until(lambda: kept(pair.a, "late IS NOT NULL") == PAIRS, "estimates to be compared with starts")

        a.submit(script_that_waits(pair.folder, pair.folder / "never"), nodes=4, time_limit=LONG)
        last, mate = a.submit(note, nodes=4, pair="last"), b.submit(note, nodes=1, pair="last")
        wait_until(lambda: b.job(mate).state == "holding", "the mate to hold")
        for _ in range(2):
            told = a.explain(last)
            check(told.job.start)
            check(told.together)
            assert f"; {PAIRS} of the last {PAIRS} such waits were " in pair.a.run("explain", last.id).stdout
            pair.a.restart()
    assert not pair.faults()


def check(estimate: Estimate) -> None:
    """All jobs started earlier than was expected, since the first one ended before its time."""
    assert (estimate.within, estimate.of) == (PAIRS, PAIRS)
    assert -LONG - PAIRS * SHORT < estimate.earliest <= estimate.latest < timedelta(0)
