"""Events: all, from now on, chosen, and resumed after a break; with both clients."""

import asyncio
import threading

import grpc
import pytest

from cosched.client import AsyncClient, Unreachable, attempts
from cosched.service.wire.errors import Refusal
from cosched.v1 import domain_pb2
from tests.waiting import PATIENCE, until, wait_until


def tell(domain, count=1, **fields):
    for _ in range(count):
        domain.happen(**{"kind": domain_pb2.EVENT_KIND_STARTED, "text": f"event {len(domain.events) + 1}", **fields})


def watched(count=1):
    """Whether so many streams have been asked for."""
    return lambda domain: sum(isinstance(asked, domain_pb2.WatchEventsRequest) for asked in domain.requests) >= count


def test_all_that_is_kept_and_then_the_end(client, domain):
    tell(domain, 3)
    assert [event.text for event in client.events(after=0, until_now=True)] == ["event 1", "event 2", "event 3"]
    assert [event.sequence for event in client.events(after=2, until_now=True)] == [3]


def test_events_of_some_jobs_and_kinds(client, domain):
    tell(domain, job="17")
    tell(domain, job="18")
    tell(domain, kind=domain_pb2.EVENT_KIND_YIELDED, job="17")
    tell(domain, kind=domain_pb2.EVENT_KIND_WARNING)
    found = list(client.events(after=0, jobs=["17"], kinds=["yielded"], until_now=True))
    assert [(event.sequence, event.kind, event.job) for event in found] == [(3, "yielded", "intrepid:17")]
    assert [event.job for event in client.events(after=3, until_now=True)] == [None]


def test_from_now_on_and_resumed_after_a_break(client, running):
    tell(running.domain, 2)
    seen = []
    stream = client.events()
    reader = threading.Thread(target=lambda: [seen.append(next(stream).sequence) for _ in range(3)])
    reader.start()
    running.wait_for(watched())
    running.do(lambda: tell(running.domain))
    breaks = grpc.StatusCode.UNAVAILABLE, Refusal(grpc.StatusCode.RESOURCE_EXHAUSTED, "WATCHER_TOO_SLOW", "")
    for number, failure in enumerate(breaks, 1):
        wait_until(lambda number=number: len(seen) == number)
        running.do(lambda failure=failure: running.domain.failures.append(failure))
        running.wait_for(watched(number + 1))
        running.do(lambda: tell(running.domain))
    reader.join(PATIENCE)
    stream.close()
    assert seen == [3, 4, 5]


async def test_resumed_with_asyncio_too(running, address):
    seen = []
    async with AsyncClient(address) as client:

        async def read():
            async for event in client.events():
                seen.append(event.sequence)
                if len(seen) == 2:
                    return

        reader = asyncio.create_task(read())
        await asyncio.to_thread(running.wait_for, watched())
        running.do(lambda: tell(running.domain))
        await until(lambda: seen)
        running.do(lambda: running.domain.failures.append(grpc.StatusCode.UNAVAILABLE))
        await asyncio.to_thread(running.wait_for, watched(2))
        running.do(lambda: tell(running.domain))
        await asyncio.wait_for(reader, PATIENCE)
    assert seen == [1, 2]


def test_a_refused_stream_is_not_asked_for_again(client, domain):
    domain.failures = [Refusal(grpc.StatusCode.OUT_OF_RANGE, "EVENTS_GONE", "too old")]
    with pytest.raises(Exception, match="too old"):
        next(client.events(after=1))
    assert len(domain.requests) == 1


def test_the_patience_with_a_domain_that_is_away_ends(client, domain, monkeypatch):
    monkeypatch.setattr("cosched.client.attempts.FEED_PAUSES", (0.01, 0.01))
    monkeypatch.setattr("cosched.client.attempts.BUSY_PAUSES", (0.01,))
    domain.failures = [grpc.StatusCode.UNAVAILABLE] * 9
    with pytest.raises(Unreachable):
        next(client.events())
    assert len(domain.requests) == 4


def test_the_patience_is_about_a_minute():
    assert 40 < sum(attempts.FEED_PAUSES) < 90
