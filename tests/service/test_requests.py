"""Requests of users that are under way when the service ends."""

import asyncio
from types import SimpleNamespace

import pytest

from cosched.service.api.requests import Requests, UserRequest
from cosched.service.store import JobRecord


@pytest.mark.parametrize("begun", ["before", "after"])
async def test_a_fault_abandons_requests_that_may_never_end_also_those_that_come_later(begun: str) -> None:
    """After a failed synchronisation nothing is ever known to be on disk."""
    requests = Requests(SimpleNamespace(store=SimpleNamespace(reply=lambda *_: None), metrics=None))
    begins = asyncio.Event()

    async def never_ends() -> JobRecord:
        begins.set()
        await asyncio.Event().wait()
        raise AssertionError

    async def ask() -> None:
        await requests.once(UserRequest(SimpleNamespace(user="ann"), "SubmitJob", "r"), never_ends, None)

    if begun == "after":
        requests.abandon()
    asking = asyncio.create_task(ask())
    await begins.wait()
    if begun == "before":
        requests.abandon()
    await requests.close()
    with pytest.raises(asyncio.CancelledError):
        await asking
