"""ListJobs: active jobs come from memory, others from the database, and nobody can tell."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import AsyncMock

import grpc
import pytest

from cosched.core.job import JobState
from cosched.core.protocol import named_mate
from cosched.core.settings import CoschedulingSettings, Scheme
from cosched.service.api.domain_api import ACTIVE, DomainApi, Serving
from cosched.service.api.operations import Operations
from cosched.service.api.reads import Reads
from cosched.service.api.requests import Requests
from cosched.service.api.views import Views
from cosched.service.clock import Clock
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.manager.queues import Queue
from cosched.service.wire.callers import plaintext_callers
from cosched.v1 import domain_pb2
from cosched.v1.domain_pb2_grpc import DomainServiceStub, add_DomainServiceServicer_to_server
from tests.service.job_records import queued
from tests.service.pki import running
from tests.service.world import domain_a


@pytest.fixture
def domain(tmp_path: Path) -> LiveDomain:
    """Three jobs have ended, three run or hold, and some wait."""
    node = domain_a(tmp_path, CoschedulingSettings(scheme=Scheme.HOLD))
    for number in range(31):  # a PBS server begins with 0
        node.run_times[str(number)] = 10 if number < 4 else 10_000
        named = named_mate("b", f"pair{number}") if number % 4 == 1 else None
        node._submit(queued(number, 3, 20_000, node.world.now, owner=("ann", "bob")[number % 2], named=named))
    node.expected = {"never over"}
    node.world.run(until=5000)
    assert {record.state for record in node.domain.jobs.values()} >= {JobState.QUEUED, JobState.RUNNING}
    assert node.store.jobs([JobState.COMPLETED], None, False, 0, -1)
    return node.domain


@asynccontextmanager
async def served(domain: LiveDomain) -> AsyncIterator[DomainServiceStub]:
    requests, queue = Requests(domain), Queue(None)
    operations = Operations(domain, requests, None, queue, None, [], 1, 1)  # its runner and its peers are not asked
    reads = Reads(domain.store.reader())
    explaining, views = SimpleNamespace(look=AsyncMock()), Views(domain, Clock())
    serving = Serving(domain, requests, operations, None, queue, views, reads, *[None] * 3, explaining, None, None)
    server = grpc.aio.server()
    add_DomainServiceServicer_to_server(DomainApi(serving, plaintext_callers(lambda _: "here")), server)
    async with running(server) as address, grpc.aio.insecure_channel(address) as channel:
        yield DomainServiceStub(channel)
    await reads.close()


async def all_pages(stub: DomainServiceStub, **request: object) -> list[str]:
    ids, token = [], ""
    while True:
        page = await stub.ListJobs(domain_pb2.ListJobsRequest(page_token=token, **request))
        ids += [job.ref.job_id for job in page.jobs]
        token = page.next_page_token
        if not token:
            return ids
        assert len(page.jobs) == request["page_size"]


STATES = [(), ("QUEUED",), ("RUNNING", "HOLDING"), ("COMPLETED",), ("QUEUED", "COMPLETED"), ("UNSPECIFIED",)]


@pytest.mark.parametrize("states", STATES)
async def test_the_jobs_of_memory_are_those_that_the_database_would_give(domain, states) -> None:
    wanted = [JobState[state] for state in states if state != "UNSPECIFIED"] or (None if states else ACTIVE)
    names = [f"JOB_STATE_{state}" for state in states]
    async with served(domain) as stub:
        for owner in ("", "ann", "nobody"):
            for paired_only in (False, True):
                kept = domain.store.jobs(wanted, owner or None, paired_only, -1, -1)
                asked = {"states": names, "owner": owner, "paired_only": paired_only}
                found = [await all_pages(stub, page_size=size, **asked) for size in (0, 1, 4)]
                assert found == [[str(record.id) for record in kept]] * 3


async def test_a_listed_job_is_told_as_when_it_is_asked_for_alone(domain) -> None:
    async with served(domain) as stub:
        page = await stub.ListJobs(domain_pb2.ListJobsRequest(states=["JOB_STATE_UNSPECIFIED"]))
    for job in page.jobs:
        record = domain.jobs.get(job.ref.job_id) or domain.store.job(int(job.ref.job_id))
        assert job == Views(domain, Clock()).job(record)
        assert job.HasField("started_at") == (record.ran_from is not None)
        assert job.HasField("exit_code") is False
        assert len(job.mates) == record.is_pair
