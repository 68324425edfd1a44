"""The synchronous client."""

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
from cosched.client.calls import EXPLAINED_AT_ONCE, NO_WINDOWS, WATCH, Call, Instant, JobLike, Windows
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

TIMEOUT = 10.0
Answer = TypeVar("Answer")
Item = TypeVar("Item")


class Client(AbstractContextManager["Client"]):
    """One policy domain, for its users and operators.

    A call that gets no answer is repeated a few times. Calls that change something carry an id, so the domain
    recognises a repetition and changes nothing twice. All methods raise ClientError (Unreachable if there was no
    answer), and ValueError for impossible arguments. A job is given as a Job, as "DOMAIN:ID" or by its id alone.
    """

    def __init__(self, server: str | None = None, *, timeout: float = TIMEOUT, tls: Tls | None = None) -> None:
        """Connect to `server`, `unix:PATH` or `HOST:PORT`.

        Its default is COSCHED_SERVER, else the server of client.toml, else this host's only domain. `timeout` is in
        seconds, for each attempt at a call. `tls` is for HOST:PORT; its default is COSCHED_CA, COSCHED_CERTIFICATE and
        COSCHED_KEY, else the keys of client.toml (`cosched.client.defaults`), else no TLS. OSError if one of the files
        cannot be read.
        """
        self.server = server_address(server)
        self._tls = chosen_tls(self.server, tls)
        self._timeout = timeout
        self._channel = open_channel(grpc, self.server, self._tls)
        self._methods = calls.methods(self._channel)

    @classmethod
    def of(cls, domain: str, *, timeout: float = TIMEOUT) -> Client:
        """Connect to the domain of this name, where COSCHED_DOMAINS or client.toml has it, or /run/cosched.

        ValueError if its address is not known.
        """
        address, tls = of_domain(domain)
        return cls(address, timeout=timeout, tls=tls)

    def close(self) -> None:
        """Close the connection."""
        self._channel.close()

    def __exit__(self, *_: object) -> None:
        self.close()

    def submit(
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
        """Submit a job: the script itself, or the Path of its file.

        `least`: the fewest nodes on which it can run, where a scheduler changes the sizes of running jobs; one of the
        `columns`, which are what the domain's scheduler reads of a job beyond size and time, by name, as text.
        `time_limit`: seconds or a timedelta. `mate`: "DOMAIN:ID"; or `pair`: a name that both jobs are submitted with
        (`pair_domain`: the mate's domain, needed only if there are several peers); or `group`: a name that one job on
        each of several domains is submitted with (`members`: the other domains; `windows`: by domain, when its job
        starts, from the first to the second, seconds or timedeltas after the jobs that have none; `at`: the instant at
        which those start, a datetime or seconds since 1970, at most 7 days ahead). A job that cannot be a mate is
        refused (ClientError, NO_PAIR), unless `or_alone` is set: the job then starts alone. `hold`: do not start before
        `release`. `directory`: the absolute path where the job runs. The domain chooses what is not given.
        """
        return self._ask(
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

    def job(self, job: JobLike) -> Job:
        """Return a job as it is now."""
        return self._ask(calls.job(job))

    def jobs(
        self,
        states: Iterable[str] | None = None,
        owner: str | None = None,
        paired_only: bool = False,
        group: str | None = None,
    ) -> list[Job]:
        """Return all jobs in these states (by default all that have not ended), in the order of submission.

        `group`: only those in the group, or the pair, of this name.
        """
        return list(self.iter_jobs(states, owner, paired_only, group))

    def iter_jobs(
        self,
        states: Iterable[str] | None = None,
        owner: str | None = None,
        paired_only: bool = False,
        group: str | None = None,
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

    def cancel(self, job: JobLike, *, unless_started: bool = False) -> Job:
        """Cancel a job. Its mate then starts alone. `unless_started`: ClientError (JOB_STATE) if it runs."""
        return self._ask(calls.cancel(job, unless_started=unless_started))

    def link(
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
        return self._ask(
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

    def unlink(self, job: JobLike, mate_domain: str = "") -> Job:
        """Dissolve a pair. A holding or ready job then starts alone at once."""
        return self._ask(calls.unlink(job, mate_domain))

    def release(self, job: JobLike) -> Job:
        """End a job's hold now. A holding job may be selected again at once, and hold again."""
        return self._ask(calls.release(job))

    def find_mates(
        self, job: JobLike, *, host: str | None = None, nodelist: str = "", port: int = 0
    ) -> list[FoundMate]:
        """Return where the mates of a job of yours are, which runs; give `host` to say where it is itself.

        `host`, `port`: what the mates should speak to; `nodelist`: all its nodes. A mate that has not said where it is
        has no `host` yet.
        """
        return self._ask(calls.find_mates(job, host, nodelist, port))

    def explain(self, job: JobLike) -> Explanation:
        """Return when a job is expected to start, and its mates, and why they wait; mates' domains are asked."""
        return self._ask(calls.explain([job]))[0]

    def explain_all(self, jobs: Sequence[JobLike]) -> list[Explanation]:
        """Return the same of many jobs, without those that are not there; of mates, what their domains said last."""
        found: list[Explanation] = []
        for first in range(0, len(jobs), EXPLAINED_AT_ONCE):
            told = self._ask(calls.explain(jobs[first : first + EXPLAINED_AT_ONCE]))
            found += told
        return found

    def usage(self, by: str = "user", since: float | timedelta | None = None) -> list[Usage]:
        """Return what jobs have cost beyond their runs, by `user`, `account` or `pair`, the largest sum first.

        `since`: of so many last seconds, or a timedelta; whole hours are counted. None: of all that is kept.
        """
        return self._ask(calls.usage(by, since))

    def run_times(self, by: str = "pair") -> list[RunTime]:
        """Return how long jobs have run, by `pair` of job class and resource, `class`, `resource`, or `user`."""
        return self._ask(calls.run_times(by))

    def correct_run_times(self, corrections: Mapping[tuple[str, str], int | None]) -> None:
        """State run times in seconds, by job class and resource, until runs complete; None: forget what was learned.

        The runs so far count no more. For operators.
        """
        self._ask(calls.correct_run_times(corrections))

    def machines(self, *, lasting: bool = False) -> Machines:
        """Return what is known of the domain's machines now; `lasting`: what holds at any time."""
        return self._ask(calls.machines(lasting=lasting))

    def quote_start(
        self,
        nodes: int = 1,
        *,
        time_limit: float | timedelta | None = None,
        columns: Mapping[str, str] | None = None,
    ) -> StartQuote:
        """Return when a job would start that were submitted now without a mate; nothing is promised."""
        return self._ask(calls.quote_start(nodes, time_limit, columns))

    def nodes(self) -> list[Nodes]:
        """Return the nodes, in groups of equal state and job."""
        return list(self._ask_for_pages(calls.nodes()))

    def domain(self) -> Domain:
        """Return the domain itself, and its peers."""
        return self._ask(calls.domain())

    def drain(self, expected: float | timedelta | None = None, *, settle: float | timedelta | None = None) -> Domain:
        """Prepare for maintenance: make no holds and no pairs until `resume`, even after a restart. For operators.

        `expected`: the likely length in whole seconds (default: an hour); peers wait that long. `settle`: how long jobs
        that hold now may go on (default: 30 s). Returns at once; `domain().drain.waits_for` lists jobs that still hold.
        """
        return self._ask(calls.drain(expected, settle))

    def resume(self) -> Domain:
        """End `drain`."""
        return self._ask(calls.resume())

    def events(
        self,
        after: int | None = None,
        jobs: Iterable[JobLike] = (),
        kinds: Iterable[str] = (),
        *,
        until_now: bool = False,
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
                pause = feed.pause_after(None)
            except grpc.RpcError as error:
                pause = feed.pause_after(error)
            finally:
                stream.cancel()
            time.sleep(pause)
