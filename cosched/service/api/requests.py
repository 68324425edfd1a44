"""Changes requested by users and operators: each is carried out once, to its end, and audited."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

import grpc

from cosched.service.domain.changes import DoneRequest
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.store import AuditRecord, JobRecord
from cosched.service.wire.callers import Caller
from cosched.service.wire.errors import Refusal


@dataclass(frozen=True, slots=True)
class UserRequest:
    """Who requests what, for request ids and the audit."""

    caller: Caller
    method: str
    request_id: str

    @property
    def user(self) -> str:
        """The user's name; Refusal if the caller is not a user of this domain."""
        if self.caller.user is None:
            said = f"only known users may change something, not {self.caller.via}: use the domain's Unix socket"
            raise Refusal(grpc.StatusCode.PERMISSION_DENIED, "USER_UNKNOWN", said)
        return self.caller.user


def checked_reader(domain: LiveDomain, caller: Caller) -> Caller:
    """Return a caller who may read; Refusal if it is not a user of this domain."""
    if caller.user is None and not caller.plaintext:
        domain.metrics.denied("USER_UNKNOWN").inc()
        domain.sparing_log.warning((caller.via, "USER_UNKNOWN"), "refused: %s is not a user", caller.via)
        raise Refusal(grpc.StatusCode.PERMISSION_DENIED, "USER_UNKNOWN", f"{caller.via} is not a user")
    return caller


class Requests:
    """The requests of one domain."""

    def __init__(self, domain: LiveDomain) -> None:
        self._domain = domain
        self._under_way: dict[tuple[str, str], asyncio.Task[JobRecord]] = {}  # by user and request id
        self._abandoned = False

    async def close(self) -> None:
        """Wait for the requests that have begun."""
        if self._abandoned:
            self.abandon()  # those that have come since
        await asyncio.gather(*self._under_way.values(), return_exceptions=True)

    def abandon(self) -> None:
        """Do not wait: after a fault, requests may never end. They are recorded, or were not answered."""
        self._abandoned = True
        for task in self._under_way.values():
            task.cancel()

    async def once(
        self,
        request: UserRequest,
        operate: Callable[[], Coroutine[Any, Any, JobRecord]],
        done: Callable[[int | None, str], JobRecord],
    ) -> JobRecord:
        """Carry an operation out to its end, even if the caller goes away; return the job as it is then. Refusal.

        Does nothing more if the same request is being carried out, or was before; `done` returns its result,
        given its job and why it was refused after that was recorded (empty: it was not).
        """
        try:
            key = request.user, request.request_id
            begun = self._under_way.get(key)
            if begun is not None:
                _check_same(request, begun.get_name())
                return await asyncio.shield(begun)
            before = self._domain.store.reply(*key)
            if before is not None:
                _check_same(request, before[0])
                return done(*before[1:])
            task = asyncio.create_task(operate(), name=request.method)
            self._under_way[key] = task
            task.add_done_callback(lambda _: self._under_way.pop(key))
            return await asyncio.shield(task)
        except Refusal as refusal:
            self.refused(request, refusal)
            raise

    def on_record(self, request: UserRequest, job: int | None, detail: str) -> None:
        """Record that the request was carried out, for `job` if it has one; only in a turn."""
        changes = self._domain.journal.changes
        changes.requests.append(DoneRequest(request.user, request.request_id, request.method, job))
        changes.audits.append(self._audit(request, str(job) if job is not None else None, "OK", detail))

    def on_refusal(self, request: UserRequest, job: int, refusal: Refusal) -> None:
        """Record that the request is refused after all, and drop its job, which ends in this turn."""
        done = DoneRequest(request.user, request.request_id, request.method, job, refusal.message)
        self._domain.journal.changes.requests.append(done)
        self._domain.journal.changes.refused.append(job)

    def refused(self, request: UserRequest, refusal: Refusal) -> None:
        """Record a refused change, if it can be written."""
        denied = refusal.code is grpc.StatusCode.PERMISSION_DENIED
        level = logging.WARNING if denied else logging.INFO
        alike = request.caller.via, request.method, refusal.reason
        said = "%s of %s is refused: %s", request.method, request.caller.via, refusal.message
        self._domain.sparing_log.log(level, alike, *said)
        if denied:
            self._domain.metrics.denied(refusal.reason).inc()
        if not self._domain.turns.problem:
            record = self._audit(request, None, refusal.code.name, refusal.message)
            self._domain.refused_changes.add(record, refusal.reason)

    def _audit(self, request: UserRequest, job: str | None, outcome: str, detail: str) -> AuditRecord:
        caller = request.caller
        now = self._domain.clock.now()
        return AuditRecord(now, caller.user or caller.peer or "", caller.via, request.method, job, outcome, detail)


def not_owner(message: str) -> Refusal:
    """Return the refusal that the caller may not do this."""
    return Refusal(grpc.StatusCode.PERMISSION_DENIED, "NOT_OWNER", message)


def _check_same(request: UserRequest, method: str) -> None:
    """Raise Refusal if the request id was used for another method."""
    if method != request.method:
        said = f"request_id: was used for {method} before"
        raise Refusal(grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD", said, {"field": "request_id"})
