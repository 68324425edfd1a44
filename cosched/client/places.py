"""Where a job's mates are, as their domains tell."""

from __future__ import annotations

from cosched.client.jobs import MATE_STATUSES
from cosched.client.view import View, word
from cosched.v1 import rendezvous_pb2


class FoundMate(View[rendezvous_pb2.FoundMate]):
    """A mate of a job, or another member of its group."""

    __slots__ = ()

    @property
    def domain(self) -> str:
        """Its domain."""
        return self._message.job.domain

    @property
    def job_id(self) -> str | None:
        """Its id there; None: unknown."""
        return self._message.job.job_id or None

    @property
    def status(self) -> str | None:
        """Its state: holding, queuing, running, ended, ...; None: its domain gives no answer."""
        return word(MATE_STATUSES, self._message.status)

    @property
    def nodelist(self) -> str | None:
        """Its nodes, as its batch system writes them; None: it has not said."""
        return self._message.place.nodelist or None

    @property
    def host(self) -> str | None:
        """The host that it can be reached at; None: it has not said yet, or does not run."""
        return self._message.place.host or None

    @property
    def port(self) -> int | None:
        """The port there; None: it has not said."""
        return self._message.place.port or None

    @property
    def ports(self) -> str | None:
        """The ports at which it may listen, `LOW-HIGH`; None: not known."""
        ports = self._message.ports
        return f"{ports.low}-{ports.high}" if self._message.HasField("ports") else None

    @property
    def problem(self) -> str:
        """Why its domain does not say; empty if it does."""
        return self._message.problem

    def __str__(self) -> str:
        return f"{self.domain}:{self.job_id}" if self.job_id else self.domain
