"""The client for asyncio programs: the methods of Client as coroutines."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import grpc

from cosched.client import calls
from cosched.client.attempts import CALL_PAUSES, Attempts
from cosched.client.calls import EXPLAINED_AT_ONCE, NO_WINDOWS, WATCH, Call, Instant, JobLike, Windows
from cosched.client.client import TIMEOUT
from cosched.client.connection import Tls, chosen_tls, of_domain, open_channel, server_address
from cosched.client.domains import Domain, Nodes
from cosched.client.events import Event
from cosched.client.explanations import Explanation
from cosched.client.feed import Feed
from cosched.client.jobs import Job
from cosched.client.machines import Machines, StartQuote
from cosched.client.places import FoundMate
from cosched.client.run_times import RunTime
from cosched.client.usage import Usage
from cosched.client.waiting import ENDED, STARTED, pauses

Answer = TypeVar("Answer")
Item = TypeVar("Item")


class AsyncClient(AbstractAsyncContextManager["AsyncClient"]):
    """One policy domain, for its users and operators; see Client. Create it while an event loop runs."""

    def __init__(self, server: str | None = None, *, timeout: float = TIMEOUT, tls: Tls | None = None) -> None:
        """See Client."""
        self.server = server_address(server)
        self._tls = chosen_tls(self.server, tls)
        self._timeout = timeout
        self._channel = open_channel(grpc.aio, self.server, self._tls)
        self._methods = calls.methods(self._channel)

    @classmethod
    def of(cls, domain: str, *, timeout: float = TIMEOUT) -> AsyncClient:
        """Connect to the domain of this name; see Client.of."""
        address, tls = of_domain(domain)
        return cls(address, timeout=timeout, tls=tls)

    async def close(self) -> None:
        """Close the connection."""
        await self._channel.close()

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def submit(
        self,
        script: str | bytes | Path,
        arguments: Sequence[str] = (),
        *,
        nodes: int = 1,
        least: int | None = None,
        columns: Mapping[str, str] | None = None,
        time_limit: float | timedelta | None = None,
        name: str = "",
        mate: JobLike | None = None,
        pair: str | None = None,
        pair_domain: str = "",
        group: str | None = None,
        members: Sequence[str] = (),
        windows: Windows = NO_WINDOWS,
        at: Instant | None = None,
        or_alone: bool = False,
        hold: bool = False,
        environment: Mapping[str, str] | None = None,
        directory: str | Path | None = None,
    ) -> Job:
        """Submit a job: the script itself, or the Path of its file. See Client.submit."""
        return await self._ask(
            calls.submit(
                script,
                arguments,
                nodes=nodes,
                least=least,
                columns=columns,
                time_limit=time_limit,
                name=name,
                mate=mate,
                pair=pair,
                pair_domain=pair_domain,
                group=group,
                members=members,
                windows=windows,
                at=at,
                or_alone=or_alone,
                hold=hold,
                environment=environment,
                directory=directory,
            )
        )

    async def job(self, job: JobLike) -> Job:
        """Return a job as it is now."""
        return await self._ask(calls.job(job))

    async def jobs(
        self,
        states: Iterable[str] | None = None,
        owner: str | None = None,
        paired_only: bool = False,
        group: str | None = None,
    ) -> list[Job]:
        """Return all jobs in these states (by default all that have not ended), in the order of submission."""
        return [job async for job in self.iter_jobs(states, owner, paired_only, group)]

    def iter_jobs(
        self,
        states: Iterable[str] | None = None,
        owner: str | None = None,
        paired_only: bool = False,
        group: str | None = None,
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

    async def cancel(self, job: JobLike, *, unless_started: bool = False) -> Job:
        """Cancel a job. Its mate then starts alone. `unless_started`: ClientError (JOB_STATE) if it runs."""
        return await self._ask(calls.cancel(job, unless_started=unless_started))

    async def link(
        self,
        job: JobLike,
        mate: JobLike | None = None,
        *,
        pair: str | None = None,
        pair_domain: str = "",
        group: str | None = None,
        members: Sequence[str] = (),
        windows: Windows = NO_WINDOWS,
        at: Instant | None = None,
        or_alone: bool = False,
    ) -> Job:
        """Set the mate of a job that has not started, or its group; it replaces the job's present mate, if any.

        A job that has nodes cannot join a group.
        """
        return await self._ask(
            calls.link(
                job,
                mate,
                pair=pair,
                pair_domain=pair_domain,
                group=group,
                members=members,
                windows=windows,
                at=at,
                or_alone=or_alone,
            )
        )

    async def unlink(self, job: JobLike, mate_domain: str = "") -> Job:
        """Dissolve a pair. A holding or ready job then starts alone at once."""
        return await self._ask(calls.unlink(job, mate_domain))

    async def release(self, job: JobLike) -> Job:
        """End a job's hold now. A holding job may be selected again at once, and hold again."""
        return await self._ask(calls.release(job))

    async def find_mates(
        self, job: JobLike, *, host: str | None = None, nodelist: str = "", port: int = 0
    ) -> list[FoundMate]:
        """Return where the mates of a job of yours are. See Client.find_mates."""
        return await self._ask(calls.find_mates(job, host, nodelist, port))

    async def explain(self, job: JobLike) -> Explanation:
        """Return when a job is expected to start, and its mates, and why they wait; mates' domains are asked."""
        return (await self._ask(calls.explain([job])))[0]

    async def explain_all(self, jobs: Sequence[JobLike]) -> list[Explanation]:
        """Return the same of many jobs, without those that are not there; of mates, what their domains said last."""
        found: list[Explanation] = []
        for first in range(0, len(jobs), EXPLAINED_AT_ONCE):
            told = await self._ask(calls.explain(jobs[first : first + EXPLAINED_AT_ONCE]))
            found += told
        return found

    async def usage(self, by: str = "user", since: float | timedelta | None = None) -> list[Usage]:
        """Return what jobs have cost beyond their runs, by `user`, `account` or `pair`, the largest sum first.

        `since`: of so many last seconds, or a timedelta; whole hours are counted. None: of all that is kept.
        """
        return await self._ask(calls.usage(by, since))

    async def run_times(self, by: str = "pair") -> list[RunTime]:
        """Return how long jobs have run, by `pair` of job class and resource, `class`, `resource`, or `user`."""
        return await self._ask(calls.run_times(by))

    async def correct_run_times(self, corrections: Mapping[tuple[str, str], int | None]) -> None:
        """State run times in seconds, by job class and resource, until runs complete; None: forget what was learned.

        The runs so far count no more. For operators.
        """
        await self._ask(calls.correct_run_times(corrections))

    async def machines(self, *, lasting: bool = False) -> Machines:
        """Return what is known of the domain's machines now; `lasting`: what holds at any time."""
        return await self._ask(calls.machines(lasting=lasting))

    async def quote_start(
        self,
        nodes: int = 1,
        *,
        time_limit: float | timedelta | None = None,
        columns: Mapping[str, str] | None = None,
    ) -> StartQuote:
        """Return when a job would start that were submitted now without a mate; nothing is promised."""
        return await self._ask(calls.quote_start(nodes, time_limit, columns))

    async def nodes(self) -> list[Nodes]:
        """Return the nodes, in groups of equal state and job."""
        return [group async for group in self._ask_for_pages(calls.nodes())]

    async def domain(self) -> Domain:
        """Return the domain itself, and its peers."""
        return await self._ask(calls.domain())

    async def drain(
        self, expected: float | timedelta | None = None, *, settle: float | timedelta | None = None
    ) -> Domain:
        """Make no holds and no pairs until `resume`; see Client.drain."""
        return await self._ask(calls.drain(expected, settle))

    async def resume(self) -> Domain:
        """End `drain`."""
        return await self._ask(calls.resume())

    def events(
        self,
        after: int | None = None,
        jobs: Iterable[JobLike] = (),
        kinds: Iterable[str] = (),
        *,
        until_now: bool = False,
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
                pause = feed.pause_after(None)
            except grpc.RpcError as error:
                pause = feed.pause_after(error)
            finally:
                stream.cancel()
            await asyncio.sleep(pause)
