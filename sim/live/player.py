"""The conductor's view of one domain in a lock-step replay."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import grpc

from cosched.error_details import error_info
from cosched.sim.live.local_process import ServiceDiedError
from cosched.v1 import replay_pb2 as wire
from cosched.v1.replay_pb2_grpc import ReplayServiceStub

INSTANTS = ("next_completion", "next_timer", "next_submission")
PATIENCE = 600.0  # seconds for one call: all that happens in a domain at one instant


class Player:
    """The client of one domain's ReplayService; its calls raise ServiceDiedError if they fail."""

    def __init__(self, name: str, server: str, check: Callable[[], None]) -> None:
        """`server` is the address; `check` raises ServiceDiedError if the service has ended."""
        self.name = name
        self._check = check
        self._channel = grpc.insecure_channel(server)
        self._service: Any = ReplayServiceStub(self._channel)
        self.come = wire.AdvanceResponse()

    def close(self) -> None:
        """Close the connection."""
        self._channel.close()

    def look(self) -> None:
        """Ask for the next events without advancing."""
        self.advance(0, ())

    def advance(self, now: int, phases: Sequence[wire.Phase], until: int = 0) -> Sequence[str]:
        """Go through phases of `now`, then on alone `until` an instant; return the domains where that started jobs."""
        request = wire.AdvanceRequest(instant=now, phases=phases, until=until)
        with self._answered():
            self.come = self._service.Advance(request, timeout=PATIENCE)
        return list(self.come.changed_domains)

    @property
    def next(self) -> int | None:
        """The next instant at which something happens here, as far as known; None if nothing does."""
        come = [(field.name, value) for field, value in self.come.ListFields()]
        return min((value for name, value in come if name in INSTANTS), default=None)

    def has_timer(self, now: int) -> bool:
        """Whether a timer is due now."""
        return bool(self.come.HasField("next_timer") and self.come.next_timer == now)

    @property
    def has_submissions(self) -> bool:
        """Whether any job is still to be submitted."""
        return bool(self.come.HasField("next_submission"))

    @property
    def has_jobs(self) -> bool:
        """Whether any job runs or is still to be submitted."""
        return self.has_submissions or bool(self.come.HasField("next_completion"))

    def results(self) -> tuple[list[wire.JobResult], int]:
        """Return the results of all submitted jobs, in trace order, and the number of released holds."""
        jobs: list[wire.JobResult] = []
        releases = 0
        with self._answered():
            for page in self._service.GetResults(wire.GetResultsRequest(), timeout=PATIENCE):
                jobs += page.jobs
                releases = page.releases
        return jobs, releases

    @contextmanager
    def _answered(self) -> Iterator[None]:
        try:
            yield
        except grpc.RpcError as error:
            self._check()
            said = error_info(error)
            reason = f"{said[0]}: {error.details()}" if said else error.details()
            raise ServiceDiedError(f"{self.name}: {reason}") from None
