"""A peer that refuses this domain is told of once, and then how often, whatever number of jobs asks it."""

import logging
from typing import Any

import pytest

from cosched.core.effects import Call
from cosched.core.events import CallFailed
from cosched.core.job import JobState
from cosched.core.protocol import Failure, GetMateJobId
from cosched.core.settings import Scheme
from cosched.core.story import What
from cosched.service.domain.story import Noted
from cosched.service.domain.watching import Watchers
from cosched.service.outside import ServiceOutside
from cosched.service.peers.agreed_start import AgreedStart
from cosched.service.peers.peers import PeerClients
from cosched.service.store import Store
from cosched.service.timers import Timers
from tests.service.offered_site import Site


def refused(site: Site, times: int) -> None:
    """Job 1 is ready again and again, and yields."""
    for _ in range(times):
        site.clock.instant += 1
        site.offer(1)
        call = site.outside.calls[-1]
        site.domain.calls.failed(call, CallFailed("1", call.request, Failure.REFUSED, "b"), "no peer a is configured")
        assert site.state(1) is JobState.QUEUED


def told(store: Store) -> list[str]:
    return [event.what for event in store.events(0, [1], [], -1)]


def test_the_story_tells_a_refusal_once_and_then_how_often_the_job_has_yielded(store: Store) -> None:
    site = Site(store, scheme=Scheme.YIELD)
    site.submit(1)
    refused(site, 16)
    what = told(store)
    assert (what.count(What.PEER_REFUSED), what.count(Noted.NO_ANSWER)) == (1, 1)
    yields = [event.detail["yields"] for event in store.events(0, [1], [], -1) if event.what == What.YIELDS]
    assert yields == [1, 2, 4, 8, 16]


def test_it_is_told_again_after_the_peer_has_answered_in_between(store: Store) -> None:
    site = Site(store, scheme=Scheme.YIELD)
    site.submit(1)
    refused(site, 2)
    site.offer(1)
    site.answer(1, *site.no_luck(1))
    refused(site, 2)
    assert told(store).count(What.PEER_REFUSED) == 2


async def test_the_log_has_one_line_a_minute_of_it_for_all_jobs_with_their_number(store: Store, caplog: Any) -> None:
    site = Site(store)
    peers, agreed = PeerClients("a", (), 1.0, None, lambda _: None), AgreedStart(None, lambda _: None, 0.5)
    outside = ServiceOutside(site.domain, peers, agreed, None, Timers(site.clock), Watchers(), None, pytest.fail)
    with caplog.at_level(logging.WARNING):
        for job in range(1, 6):
            outside.call(Call("b", str(job), GetMateJobId(str(job), "p", None, "ann")))
        await outside.tasks.settled()
        assert caplog.text.count("no peer b is configured here") == 1
        site.domain.sparing_log.close()
    assert "no peer b is configured here (and 4 times since)" in caplog.text
