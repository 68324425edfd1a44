"""Plays one policy domain by its service, which keeps step through ReplayService (replay.proto)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import grpc

from cosched.core.protocol import Domain
from cosched.core.scheduling.primitives.tables import NEVER
from cosched.v1 import replay_pb2 as wire
from cosched.v1.replay_pb2_grpc import ReplayServiceStub
from cosched.words.error_details import error_info
from cosched_sim.federation.player import ALL, EVENTS, Advanced, JobOutcome, Phase, Results, in_columns
from cosched_sim.what_if import WhatIf
from cosched_sim.workload.allocations import Allocations
from cosched_sim.workload.jobs import UNKNOWN

INSTANTS = ("next_completion", "next_timer", "next_submission")
PATIENCE = 600.0  # seconds for one call: all that happens in a domain at one instant
PHASES = {phase: wire.Phase.Value(f"PHASE_{phase.name}") for phase in Phase if phase is not Phase.SCRIPT}


class ServiceDiedError(Exception):
    """A service has ended, does not serve or gives no proper answer; `str()` quotes its last message."""


class LivePlayer:
    """The client of one domain's ReplayService; its calls raise ServiceDiedError if they fail.

    All of a replay have one `script`, and a `stage` for it. The first of them that comes to the events of an instant,
    which is one for all, carries them out.
    """

    script: WhatIf = WhatIf()
    stage: Any = None

    def __init__(self, name: str, server: str, check: Callable[[], None]) -> None:
        """`server` is the address; `check` raises ServiceDiedError if the service has ended."""
        self.name = name
        self.domains = (name,)
        self._check = check
        self._channel = grpc.insecure_channel(server)
        self._service: Any = ReplayServiceStub(self._channel)
        self._to_come = wire.AdvanceResponse()

    def close(self) -> None:
        """Close the connection."""
        self._channel.close()

    def look(self) -> None:
        """Ask for the next events without advancing."""
        self._advance(0, ())

    def advance(self, now: int, phases: Sequence[Phase]) -> Sequence[Domain]:
        if Phase.SCRIPT in phases and self.script.next() == now:
            at = phases.index(Phase.SCRIPT)
            if at:
                self._advance(now, phases[:at])
            self.script.fire(self.stage, now)
            phases = phases[at:]
        return () if tuple(phases) == (Phase.SCRIPT,) else self._advance(now, phases).changed

    def iterate(self, domain: Domain, now: int) -> Sequence[Domain]:  # noqa: ARG002
        return self._advance(now, (Phase.ITERATIONS,)).changed

    def go_on(self, now: int, until: int) -> Advanced:
        if self.script.next() == now:
            changed = self.advance(now, EVENTS)
            return Advanced(now, changed, None, timers_fired=True)
        return self._advance(now, ALL, min(until, self.script.next()))

    def _advance(self, now: int, phases: Sequence[Phase], until: int = 0) -> Advanced:
        """Go through these phases of `now`, which is told already, to all services; then on alone."""
        told = [PHASES[phase] for phase in phases if phase is not Phase.SCRIPT]
        request = wire.AdvanceRequest(instant=now, phases=told, until=until)
        with self._answered():
            self._to_come = self._service.Advance(request, timeout=PATIENCE)
        come = self._to_come
        iterated = None if come.before_iterations else self.name
        return Advanced(come.instant, list(come.changed_domains), iterated, come.timers_fired)

    @property
    def next(self) -> int | None:
        come = [value for field, value in self._to_come.ListFields() if field.name in INSTANTS]
        at = min(*come, self.script.next(), NEVER)
        return at if at < NEVER else None

    def has_timer(self, now: int) -> bool:
        is_due = self._to_come.HasField("next_timer") and self._to_come.next_timer == now
        return bool(is_due) or self.script.next() == now

    @property
    def has_submissions(self) -> bool:
        return bool(self._to_come.HasField("next_submission"))

    @property
    def has_jobs(self) -> bool:
        runs = bool(self._to_come.HasField("next_completion"))
        return self.has_submissions or runs or self.script.next() < NEVER

    def change(self, now: int, job: int, change: wire.JobChange, by: int = -1) -> bool:
        """Change a job that is known by its row, as is the one by which it is replaced; whether that could be done."""
        request = wire.ChangeJobRequest(instant=now, number=job + 1, change=change, by=by + 1)
        with self._answered():
            return bool(self._service.ChangeJob(request, timeout=PATIENCE).done)

    def change_domain(self, now: int, change: wire.DomainChange, **of: Any) -> None:
        """Change the domain: `of` are fields of ChangeDomainRequest."""
        request = wire.ChangeDomainRequest(instant=now, change=change, **of)
        with self._answered():
            self._service.ChangeDomain(request, timeout=PATIENCE)

    def results(self, domain: Domain, now: int) -> Results:  # noqa: ARG002
        jobs: list[JobOutcome] = []
        restarts = dict[int, int]()
        had: list[tuple[Any, ...]] = []
        events: list[dict[str, Any]] = []
        releases, counts = 0, dict[str, int]()
        with self._answered():
            for page in self._service.GetResults(wire.GetResultsRequest(), timeout=PATIENCE):
                jobs += map(_outcome, page.jobs)
                restarts |= {job.number - 1: job.last_start for job in page.jobs if job.HasField("last_start")}
                releases = page.releases
                had += map(_allocation, page.allocations)
                counts = dict(page.counts)
                events += map(json.loads, page.events)
        allocations = Allocations.of(had) if had else None
        return Results(in_columns(jobs), releases, None, None, allocations, counts, restarts, events)

    @contextmanager
    def _answered(self) -> Iterator[None]:
        try:
            yield
        except grpc.RpcError as error:
            self._check()
            said = error_info(error)
            reason = f"{said[0]}: {error.details()}" if said else error.details()
            raise ServiceDiedError(f"{self.name}: {reason}") from None


def _outcome(job: wire.JobResult) -> JobOutcome:
    """The message's fields have the same names."""
    absent = {name for name in ("ready", "start", "end", "hold_start") if not job.HasField(name)}
    return JobOutcome(*(UNKNOWN if name in absent else getattr(job, name) for name in JobOutcome._fields))


def _allocation(had: wire.PastAllocation) -> tuple[Any, ...]:
    return had.number - 1, had.allocation, had.nodes, had.start, had.end, had.ended - 1, had.where, had.resource
