"""Where a job's mates are, as their domains tell."""

from __future__ import annotations

from cosched.client.fields import if_any, plain, word_if_any
from cosched.client.jobs import MATE_STATUSES
from cosched.client.view import View
from cosched.v1 import rendezvous_pb2


class FoundMate(View[rendezvous_pb2.FoundMate]):
    """A mate of a job, or another member of its group."""

    domain = plain(str, "Its domain.", "job.domain")
    job_id = if_any(str, "Its id there; None: unknown.", "job.job_id")
    status = word_if_any(
        MATE_STATUSES, "Its state: holding, queuing, running, ended, ...; None: its domain gives no answer."
    )
    nodelist = if_any(str, "Its nodes, as its batch system writes them; None: it has not said.", "place.nodelist")
    host = if_any(str, "The host that it can be reached at; None: it has not said yet, or does not run.", "place.host")
    port = if_any(int, "The port there; None: it has not said.", "place.port")

    @property
    def ports(self) -> str | None:
        """The ports at which it may listen, `LOW-HIGH`; None: not known."""
        ports = self._message.ports
        return f"{ports.low}-{ports.high}" if self._message.HasField("ports") else None

    problem = plain(str, "Why its domain does not say; empty if it does.")

    def __str__(self) -> str:
        return f"{self.domain}:{self.job_id}" if self.job_id else self.domain
