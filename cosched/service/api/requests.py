"""Changes requested by users and operators: each is carried out once, to its end, and audited."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import grpc

from cosched.service.domain.changes import DoneRequest
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.store import AuditRecord, JobRecord
from cosched.service.wire.callers import Caller
from cosched.service.wire.errors import Refusal

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Asking:
    """Who requests what, for request ids and the audit."""

    caller: Caller
    method: str
    request_id: str

    @property
    def user(self) -> str:
        """The user's name; Refusal if the caller is no user of this domain."""
        if self.caller.user is None:
            said = f"only known users may change something, not {self.caller.via}: use the domain's Unix socket"
            raise Refusal(grpc.StatusCode.PERMISSION_DENIED, "USER_UNKNOWN", said)
        return self.caller.user


class Requests:
    """The requests of one domain."""

    def __init__(self, domain: LiveDomain) -> None:
        self._domain = domain
        self._under_way: dict[tuple[str, str], asyncio.Task[JobRecord]] = {}  # by user and request id

    async def close(self) -> None:
        """Wait for the requests that have begun."""
        await asyncio.gather(*self._under_way.values(), return_exceptions=True)

    def abandon(self) -> None:
        """Do not wait: after a fault, requests may never end. They are recorded, or were not answered."""
        for task in self._under_way.values():
            task.cancel()

    async def once(
        self, asking: Asking, operate: Callable[[], Awaitable[JobRecord]], done: Callable[[int | None], JobRecord]
    ) -> JobRecord:
        """Carry an operation out to its end, even if the caller goes away; return the job as it is then. Refusal.

        Does nothing more if the same request is being carried out, or was before; `done` returns its result.
        """
        try:
            begun = self._under_way.get((asking.user, asking.request_id))
            if begun is not None:
                _check_same(asking, begun.get_name())
                return await asyncio.shield(begun)
            before = self._domain.store.reply(asking.user, asking.request_id)
            if before is not None:
                _check_same(asking, before[0])
                return done(before[1])
            return await asyncio.shield(self._begin(asking, operate))
        except Refusal as refusal:
            self.refused(asking, refusal)
            raise

    def _begin(self, asking: Asking, operate: Callable[[], Awaitable[JobRecord]]) -> asyncio.Task[JobRecord]:
        key, task = (asking.user, asking.request_id), asyncio.ensure_future(operate())
        assert isinstance(task, asyncio.Task)
        task.set_name(asking.method)
        self._under_way[key] = task
        task.add_done_callback(lambda _: self._under_way.pop(key))
        return task

    def on_record(self, asking: Asking, job: int | None, detail: str) -> None:
        """Record that the request was carried out, for `job` if it has one; only in a turn."""
        changes = self._domain.journal.changes
        done = DoneRequest(asking.user, asking.request_id, asking.method, job)
        changes.requests.append(done)
        changes.audits.append(self._audit(asking, str(job) if job is not None else None, "OK", detail))

    def refused(self, asking: Asking, refusal: Refusal) -> None:
        """Record a refused change, if it can be written."""
        denied = refusal.code is grpc.StatusCode.PERMISSION_DENIED
        level = logging.WARNING if denied else logging.INFO
        _LOG.log(level, "%s of %s: %s", asking.method, asking.caller.via, refusal.message)
        if denied:
            self._domain.metrics.denied(refusal.reason).inc()
        if not self._domain.turns.problem:
            record = self._audit(asking, None, refusal.code.name, refusal.message)
            self._domain.refused_changes.add(record, refusal.reason)

    def _audit(self, asking: Asking, job: str | None, outcome: str, detail: str) -> AuditRecord:
        caller = asking.caller
        now = self._domain.clock.now()
        return AuditRecord(now, caller.user or caller.peer or "", caller.via, asking.method, job, outcome, detail)


def not_owner(message: str) -> Refusal:
    """Return the refusal that the caller may not do this."""
    return Refusal(grpc.StatusCode.PERMISSION_DENIED, "NOT_OWNER", message)


def _check_same(asking: Asking, method: str) -> None:
    """Raise Refusal if the request id was used for another method."""
    if method != asking.method:
        said = f"request_id: was used for {method} before"
        raise Refusal(grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD", said, {"field": "request_id"})
