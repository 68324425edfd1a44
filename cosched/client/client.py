"""The client for programs that wait for each answer."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import grpc

from cosched.client import calls
from cosched.client.attempts import CALL_PAUSES, Attempts
from cosched.client.calls import Call, JobLike
from cosched.client.connection import Tls, chosen_tls, open_channel, server_address
from cosched.client.domains import Domain, Nodes
from cosched.client.events import Event
from cosched.client.feed import Feed
from cosched.client.jobs import Job
from cosched.v1.domain_pb2_grpc import DomainServiceStub

TIMEOUT = 10.0
Answer = TypeVar("Answer")
Item = TypeVar("Item")


class Client(AbstractContextManager["Client"]):
    """One policy domain, for its users and operators.

    A call that gets no answer is repeated a few times; one that changes something carries an id, by which the domain
    knows a repetition and changes nothing twice. All methods raise ClientError (Unreachable if there was no answer),
    and ValueError for arguments that cannot be meant. A job is given as a Job, as "DOMAIN:ID" or by its id alone.
    """

    def __init__(self, server: str | None = None, *, timeout: float = TIMEOUT, tls: Tls | None = None) -> None:
        """`server`: `unix:PATH` or `HOST:PORT` (COSCHED_SERVER, client.toml, this host's only domain); `timeout`:
        seconds for each attempt of a call.

        `tls`: for HOST:PORT; by default from COSCHED_CA, COSCHED_CERTIFICATE and COSCHED_KEY, else from client.toml
        (`cosched.client.defaults`); without them there is no TLS. OSError: a file of it cannot be read.
        """
        self.server = server_address(server)
        self._tls = chosen_tls(self.server, tls)
        self._timeout = timeout
        self._channel = open_channel(grpc, self.server, self._tls)
        self._stub = DomainServiceStub(self._channel)

    def close(self) -> None:
        """End the connection."""
        self._channel.close()

    def __exit__(self, *_: object) -> None:
        self.close()

    def submit(
        self,
        script: str | bytes | Path,
        arguments: Sequence[str] = (),
        *,
        nodes: int = 1,
        time_limit: float | timedelta | None = None,
        name: str = "",
        mate: JobLike | None = None,
        pair: str | None = None,
        pair_domain: str = "",
        or_alone: bool = False,
        hold: bool = False,
        environment: Mapping[str, str] | None = None,
        directory: str | Path | None = None,
    ) -> Job:
        """Submit a job: the script itself, or the Path of its file.

        `time_limit` in seconds or as timedelta; `mate`: "DOMAIN:ID", or `pair`: a name that both jobs are submitted
        with (`pair_domain`: the mate's domain, where there is a choice). A mate that is none is refused (ClientError,
        NO_PAIR), unless `or_alone`: the job then starts alone. `hold`: not before `release`; `directory`: an absolute
        path where it runs. What is not given, the domain chooses.
        """
        return self._ask(
            calls.submit(
                script,
                arguments,
                nodes=nodes,
                time_limit=time_limit,
                name=name,
                mate=mate,
                pair=pair,
                pair_domain=pair_domain,
                or_alone=or_alone,
                hold=hold,
                environment=environment,
                directory=directory,
            )
        )

    def job(self, job: JobLike) -> Job:
        """A job as it is now."""
        return self._ask(calls.job(job))

    def jobs(
        self, states: Iterable[str] | None = None, owner: str | None = None, paired_only: bool = False
    ) -> list[Job]:
        """All jobs in one of these states (by default all that have not ended), in the order of submission."""
        return list(self.iter_jobs(states, owner, paired_only))

    def iter_jobs(
        self, states: Iterable[str] | None = None, owner: str | None = None, paired_only: bool = False
    ) -> Iterator[Job]:
        """The same jobs one by one; while some are worked on, the next are on their way."""
        return self._ask_for_pages(calls.jobs(states, owner, paired_only))

    def cancel(self, job: JobLike) -> Job:
        """Cancel a job. Its mate then starts alone."""
        return self._ask(calls.cancel(job))

    def link(
        self,
        job: JobLike,
        mate: JobLike | None = None,
        *,
        pair: str | None = None,
        pair_domain: str = "",
        or_alone: bool = False,
    ) -> Job:
        """Name the mate of a job that has not started, instead of the one that it has, if any."""
        return self._ask(calls.link(job, mate, pair, pair_domain, or_alone))

    def unlink(self, job: JobLike, mate_domain: str = "") -> Job:
        """Dissolve a pair. A job that holds, or is ready, starts at once, alone."""
        return self._ask(calls.unlink(job, mate_domain))

    def release(self, job: JobLike) -> Job:
        """End a job's hold now; a holding job may be selected, and hold, again at once."""
        return self._ask(calls.release(job))

    def nodes(self) -> list[Nodes]:
        """The nodes, in groups of equal state and job."""
        return list(self._ask_for_pages(calls.nodes()))

    def domain(self) -> Domain:
        """The domain itself, and the other domains that it speaks to."""
        return self._ask(calls.domain())

    def drain(self, expected: float | timedelta | None = None, *, settle: float | timedelta | None = None) -> Domain:
        """Make no holds and no pairs until `resume`, over restarts too: for maintenance, by operators.

        `expected`: how long that is likely to take, in whole seconds (an hour); peers wait so long. `settle`: how long
        jobs that hold now may go on (30 s). Returns at once: `domain().drain.waits_for` tells what is to be settled.
        """
        return self._ask(calls.drain(expected, settle))

    def resume(self) -> Domain:
        """The end of `drain`."""
        return self._ask(calls.resume())

    def events(
        self,
        after: int | None = None,
        jobs: Iterable[JobLike] = (),
        kinds: Iterable[str] = (),
        *,
        until_now: bool = False,
    ) -> Iterator[Event]:
        """What happens from now on; with `after` what happened after the event of that number too (0: all).

        A stream that breaks is resumed after the last event that came. It ends only with `until_now`, or with
        Unreachable when the domain is away for more than about a minute.
        """
        return self._follow(Feed(self.server, calls.events(after, jobs, kinds, until_now), self._tls))

    def _ask(self, call: Call[Answer]) -> Answer:
        return call.read(self._result(self._begin(call), call))

    def _ask_for_pages(self, call: Call[list[Item]]) -> Iterator[Item]:
        begun = self._begin(call)
        while begun is not None:
            answer = self._result(begun, call)
            call.request.page_token = answer.next_page_token
            begun = self._begin(call) if answer.next_page_token else None
            yield from call.read(answer)

    def _begin(self, call: Call[Any]) -> Any:
        return getattr(self._stub, call.method).future(call.request, timeout=self._timeout)

    def _result(self, begun: Any, call: Call[Any]) -> Any:
        attempts = Attempts(self.server, CALL_PAUSES, self._tls)
        while True:
            try:
                return begun.result()
            except grpc.RpcError as error:
                pause = attempts.pause_after(error)
            time.sleep(pause)
            begun = self._begin(call)

    def _follow(self, feed: Feed) -> Iterator[Event]:
        until_now = feed.request.until_now
        while True:
            stream = self._stub.WatchEvents(feed.request, timeout=self._timeout if until_now else None)
            try:
                for answer in stream:
                    yield feed.event(answer)
                if until_now:
                    return
                pause = feed.pause_after(None)
            except grpc.RpcError as error:
                pause = feed.pause_after(error)
            finally:
                stream.cancel()
            time.sleep(pause)
