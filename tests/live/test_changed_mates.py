"""What a job does at once when its mate is cancelled, or replaced: its domain is told so. No job asks now and then."""

import pytest

from tests.live.services import Pair, fill, noted, script_that_notes, start_together, wait_until
from tests.live.test_pair import done


@pytest.fixture
def held(make_pair):
    """Pairs whose job 1 of a holds for job 2 of b, which queues behind another."""

    def make(**settings) -> tuple[Pair, str]:
        pair = make_pair(scheme="hold", hold_check=0, **settings).start()
        script = script_that_notes(pair.folder)
        go = fill(pair.b)
        with pair.a.client() as a, pair.b.client() as b:
            a.submit(script, pair="p")
            b.submit(script, pair="p")
            wait_until(lambda: (a.job(1).state, a.job(1).mates[0].id) == ("holding", "2"), "it holds")
        pair.go = go
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
    with pair.a.client() as a:
        assert [event.detail["why"] for event in a.events(0, kinds=["started"], until_now=True)] == [
            "its mate will not run: cancelled"
        ]
    assert not pair.a.faults()
    assert not pair.b.faults()


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
