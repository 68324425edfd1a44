"""The client for asyncio programs: the methods of Client as coroutines."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Concatenate, ParamSpec, TypeVar

import grpc

from cosched.client import calls, site_calls
from cosched.client.attempts import CALL_PAUSES, Attempts, Feed
from cosched.client.calls import WATCH, Call, JobLike, Words
from cosched.client.client import Connected
from cosched.client.domains import Nodes
from cosched.client.events import Event
from cosched.client.explanations import Explanation
from cosched.client.jobs import Job
from cosched.client.waiting import ENDED, STARTED, pauses

Answer = TypeVar("Answer")
Item = TypeVar("Item")
_P = ParamSpec("_P")


def _asks(make: Callable[_P, Call[Answer]]) -> Callable[Concatenate[AsyncClient, _P], Coroutine[Any, Any, Answer]]:
    """Return the method of the client that asks for this."""

    async def ask(self: AsyncClient, /, *arguments: _P.args, **options: _P.kwargs) -> Answer:
        return await self._ask(make(*arguments, **options))

    return calls.method_of(make, ask)


class AsyncClient(Connected, AbstractAsyncContextManager["AsyncClient"]):
    """One policy domain, for its users and operators; see Client. Create it while an event loop runs."""

    _calling = grpc.aio

    async def close(self) -> None:
        """Close the connection."""
        await self._channel.close()

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    submit = _asks(calls.submit)
    job = _asks(calls.job)
    cancel = _asks(calls.cancel)
    link = _asks(calls.link)
    unlink = _asks(calls.unlink)
    release = _asks(calls.release)
    find_mates = _asks(calls.find_mates)
    explain = _asks(calls.explain)
    usage = _asks(calls.usage)
    run_times = _asks(site_calls.run_times)
    correct_run_times = _asks(site_calls.correct_run_times)
    site = _asks(site_calls.site)
    machines = _asks(calls.machines)
    quote_start = _asks(calls.quote_start)
    domain = _asks(calls.domain)
    drain = _asks(calls.drain)
    resume = _asks(calls.resume)

    async def jobs(
        self, states: Words | None = None, owner: str | None = None, paired_only: bool = False, group: str | None = None
    ) -> list[Job]:
        """Return all jobs in these states (by default all that have not ended), in the order of submission."""
        return [job async for job in self.iter_jobs(states, owner, paired_only, group)]

    def iter_jobs(
        self, states: Words | None = None, owner: str | None = None, paired_only: bool = False, group: str | None = None
    ) -> AsyncIterator[Job]:
        """Iterate over the same jobs."""
        return self._ask_for_pages(calls.jobs(states, owner, paired_only, group))

    async def wait(self, job: JobLike, *, started: bool = False, timeout: float | None = None) -> Job:
        """Return a job once it has ended, or once it has started; TimeoutError after `timeout` seconds."""
        for pause in pauses(timeout):
            await asyncio.sleep(pause)
            found = await self.job(job)
            if found.state in (STARTED if started else ENDED):
                return found
        raise TimeoutError(f"job {found} is {found.state}")

    async def explain_all(self, jobs: Sequence[JobLike]) -> list[Explanation]:
        """Return the same of many jobs, without those that are not there; of mates, what their domains said last."""
        return [found for call in calls.explain_all(jobs) for found in await self._ask(call)]

    async def nodes(self) -> list[Nodes]:
        """Return the nodes, in groups of equal state and job."""
        return [group async for group in self._ask_for_pages(calls.nodes())]

    def events(
        self, after: int | None = None, jobs: Iterable[JobLike] = (), kinds: Words = (), *, until_now: bool = False
    ) -> AsyncIterator[Event]:
        """Iterate over the domain's events as they happen; see Client.events."""
        return self._follow(Feed(self.server, calls.events(after, jobs, kinds, until_now), self._tls))

    async def _ask(self, call: Call[Answer]) -> Answer:
        return call.read(await self._answer(call))

    async def _ask_for_pages(self, call: Call[list[Item]]) -> AsyncIterator[Item]:
        while True:
            answer = await self._answer(call)
            for item in call.read(answer):
                yield item
            if not answer.next_page_token:
                return
            call.request.page_token = answer.next_page_token

    async def _answer(self, call: Call[Any]) -> Any:
        attempts = Attempts(self.server, CALL_PAUSES, self._tls)
        while True:
            try:
                return await self._methods[call.method](call.request, timeout=self._timeout)
            except grpc.RpcError as error:
                pause = attempts.pause_after(error)
            await asyncio.sleep(pause)

    async def _follow(self, feed: Feed) -> AsyncIterator[Event]:
        until_now = feed.request.until_now
        while True:
            stream = self._methods[WATCH](feed.request, timeout=self._timeout if until_now else None)
            try:
                async for answer in stream:
                    yield feed.event(answer)
                if until_now:
                    return
                pause = feed.attempts.pause_after(None)
            except grpc.RpcError as error:
                pause = feed.attempts.pause_after(error)
            finally:
                stream.cancel()
            await asyncio.sleep(pause)
