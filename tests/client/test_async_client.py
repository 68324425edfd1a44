"""The asyncio client: the same calls, awaited; and the examples of the package."""

import doctest
import inspect

import grpc
import pytest

import cosched.client
from cosched.client import AsyncClient, Client, ClientError, Unreachable

SCRIPT = "#!/bin/sh\n"


async def test_every_call_can_be_awaited(running):
    async with AsyncClient(running.address) as client:
        job = await client.submit(SCRIPT, nodes=2, pair="run7")
        assert (job.id, job.nodes, job.mates[0].lookup) == ("17", 2, "unsubmitted")
        assert await client.job(job) == job
        assert await client.jobs(paired_only=True) == [job]
        assert (await client.unlink(job)).mates == ()
        assert str((await client.link(job, "eureka:3")).mates[0]) == "eureka:3"
        assert (await client.release(job)).reason == ""
        other = await client.submit(SCRIPT, in_place_of=job, ends_with=["eureka"], together_for=60)
        assert (await client.cancel(other, final=True)).state == "cancelled"
        assert (await client.cancel(job)).state == "cancelled"
        assert (await client.wait(job)).state == "cancelled"
        assert (await client.domain()).name == "intrepid"
        assert await client.nodes() == []
        assert [event.kind async for event in client.events(after=0, until_now=True)] == ["submitted"] * 2


async def test_a_lost_answer_changes_nothing_twice(domain, address):
    domain.lost_answers = 1
    async with AsyncClient(address) as client:
        assert (await client.submit(SCRIPT)).id == "17"
    assert len(domain.jobs) == 1


async def test_errors_are_those_of_the_other_client(domain, address, monkeypatch):
    monkeypatch.setattr("cosched.client.attempts.BUSY_PAUSES", ())
    async with AsyncClient(address) as client:
        with pytest.raises(ClientError) as raised:
            await client.job(99)
        assert raised.value.reason == "JOB_NOT_FOUND"
        domain.failures = [grpc.StatusCode.UNAVAILABLE] * 9
        with pytest.raises(Unreachable):
            await client.domain()


def test_both_clients_have_the_same_methods():
    for name, method in inspect.getmembers(Client, inspect.isfunction):
        if not name.startswith("_"):
            other = inspect.signature(getattr(AsyncClient, name))
            assert other.parameters == inspect.signature(method).parameters


@pytest.mark.usefixtures("domain")
def test_the_examples_of_the_package():
    failures, tried = doctest.testmod(cosched.client)
    assert (failures, tried) == (0, 6)
