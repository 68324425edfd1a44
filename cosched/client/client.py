"""The synchronous client."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar, Concatenate, ParamSpec, Self, TypeVar

import grpc

from cosched.client import calls, site_calls
from cosched.client.attempts import CALL_PAUSES, Attempts, Feed
from cosched.client.calls import WATCH, Call, JobLike, Words
from cosched.client.connection import Tls, chosen_tls, of_domain, open_channel, server_address
from cosched.client.domains import Nodes
from cosched.client.events import Event
from cosched.client.explanations import Explanation
from cosched.client.jobs import Job
from cosched.client.waiting import ENDED, STARTED, pauses

TIMEOUT = 10.0
Answer = TypeVar("Answer")
Item = TypeVar("Item")
_P = ParamSpec("_P")


def _asks(make: Callable[_P, Call[Answer]]) -> Callable[Concatenate[Client, _P], Answer]:
    """Return the method of the client that asks for this."""

    def ask(self: Client, /, *arguments: _P.args, **options: _P.kwargs) -> Answer:
        return self._ask(make(*arguments, **options))

    return calls.method_of(make, ask)


class Connected:
    """The connection of a client, in the library's way of calling, `_calling`."""

    _calling: ClassVar[Any] = grpc

    def __init__(self, server: str | None = None, *, timeout: float = TIMEOUT, tls: Tls | None = None) -> None:
        """Connect to `server`, `unix:PATH` or `HOST:PORT`.

        Its default is COSCHED_SERVER, else the server of client.toml, else this host's only domain. `timeout` is in
        seconds, for each attempt at a call. `tls` is for HOST:PORT; its default is COSCHED_CA, COSCHED_CERTIFICATE,
        COSCHED_KEY and COSCHED_TOKEN_FILE, else the keys of client.toml (`cosched.client.defaults`), else no TLS.
        OSError if one of the files cannot be read.
        """
        self.server = server_address(server)
        self._tls = chosen_tls(self.server, tls)
        self._timeout = timeout
        self._channel = open_channel(self._calling, self.server, self._tls)
        self._methods = calls.methods(self._channel)

    @classmethod
    def of(cls, domain: str, *, timeout: float = TIMEOUT) -> Self:
        """Connect to the domain of this name, where COSCHED_DOMAINS or client.toml has it, or /run/cosched.

        ValueError if its address is not known.
        """
        address, tls = of_domain(domain)
        return cls(address, timeout=timeout, tls=tls)


class Client(Connected, AbstractContextManager["Client"]):
    """One policy domain, for its users and operators.

    A call that gets no answer is repeated a few times. Calls that change something carry an id, so the domain
    recognises a repetition and changes nothing twice. All methods raise ClientError (Unreachable if there was no
    answer), and ValueError for impossible arguments. A job is given as a Job, as "DOMAIN:ID" or by its id alone.
    """

    def close(self) -> None:
        """Close the connection."""
        self._channel.close()

    def __exit__(self, *_: object) -> None:
        self.close()

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

    def jobs(
        self, states: Words | None = None, owner: str | None = None, paired_only: bool = False, group: str | None = None
    ) -> list[Job]:
        """Return all jobs in these states (by default all that have not ended), in the order of submission.

        `group`: only those in the group, or the pair, of this name.
        """
        return list(self.iter_jobs(states, owner, paired_only, group))

    def iter_jobs(
        self, states: Words | None = None, owner: str | None = None, paired_only: bool = False, group: str | None = None
    ) -> Iterator[Job]:
        """Iterate over the same jobs; the next page is fetched while you use the present one."""
        return self._ask_for_pages(calls.jobs(states, owner, paired_only, group))

    def wait(self, job: JobLike, *, started: bool = False, timeout: float | None = None) -> Job:
        """Return a job once it has ended, or once it has started; TimeoutError after `timeout` seconds."""
        for pause in pauses(timeout):
            time.sleep(pause)
            found = self.job(job)
            if found.state in (STARTED if started else ENDED):
                return found
        raise TimeoutError(f"job {found} is {found.state}")

    def explain_all(self, jobs: Sequence[JobLike]) -> list[Explanation]:
        """Return the same of many jobs, without those that are not there; of mates, what their domains said last."""
        return [found for call in calls.explain_all(jobs) for found in self._ask(call)]

    def nodes(self) -> list[Nodes]:
        """Return the nodes, in groups of equal state and job."""
        return list(self._ask_for_pages(calls.nodes()))

    def events(
        self, after: int | None = None, jobs: Iterable[JobLike] = (), kinds: Words = (), *, until_now: bool = False
    ) -> Iterator[Event]:
        """Iterate over events from now on; with `after` also over earlier ones with numbers above `after` (0: all).

        A broken stream is resumed after the last event received. It ends only if `until_now` is set, or with
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
        return self._methods[call.method].future(call.request, timeout=self._timeout)

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
            stream = self._methods[WATCH](feed.request, timeout=self._timeout if until_now else None)
            try:
                for answer in stream:
                    yield feed.event(answer)
                if until_now:
                    return
                pause = feed.attempts.pause_after(None)
            except grpc.RpcError as error:
                pause = feed.attempts.pause_after(error)
            finally:
                stream.cancel()
            time.sleep(pause)
