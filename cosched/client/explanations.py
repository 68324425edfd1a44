"""When a job and its mates are expected to start, and why they wait, as their domains tell."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from cosched.client.jobs import JOB_STATES
from cosched.client.view import View, instant, when, word, words
from cosched.v1 import explain_pb2

SOURCES = words(explain_pb2.EstimateSource, "ESTIMATE_SOURCE_")


class Estimate(View[explain_pb2.Estimate]):
    """An expected start."""

    __slots__ = ()

    @property
    def at(self) -> datetime:
        """When."""
        return instant(self._message.at)

    @property
    def made_at(self) -> datetime:
        """When this was estimated."""
        return instant(self._message.made_at)

    @property
    def source(self) -> str | None:
        """By whom: plan, batch_system, slot (it is agreed), has_nodes (it waits for its mate only)."""
        return word(SOURCES, self._message.source)

    @property
    def nodes(self) -> int | None:
        """On how many nodes, if the scheduler chooses that; None: on as many as the job asks for."""
        return self._message.nodes or None

    @property
    def earliest(self) -> timedelta | None:
        """Of the last `of` such estimates, `within` came true between `earliest` and `latest` after it; None: too few.

        Negative: before it.
        """
        return self._deviation("earliest")

    @property
    def latest(self) -> timedelta | None:
        """See `earliest`."""
        return self._deviation("latest")

    @property
    def within(self) -> int:
        """See `earliest`."""
        return self._message.accuracy.within

    @property
    def of(self) -> int:
        """See `earliest`."""
        return self._message.accuracy.of

    def _deviation(self, name: str) -> timedelta | None:
        if not self._message.HasField("accuracy"):
            return None
        return getattr(self._message.accuracy, name).ToTimedelta()  # type: ignore[no-any-return]


class Reason(View[explain_pb2.Reason]):
    """Why a job waits."""

    __slots__ = ()

    @property
    def kind(self) -> str | None:
        """What it is, such as nodes_busy, mate_waits; None: only the text says it."""
        kind: str | None = self._message.WhichOneof("kind")
        return kind

    @property
    def detail(self) -> dict[str, Any]:
        """The values of this kind of reason by name, as in explain.proto: `required`, `available`, `until`, ..."""
        kind = self._message.WhichOneof("kind")
        return {} if kind is None else _values(getattr(self._message, kind))

    @property
    def text(self) -> str:
        """One sentence for people."""
        return self._message.text

    @property
    def change(self) -> str:
        """The command or the setting that changes it; empty: nothing but time."""
        return self._message.change


class Cost(View[explain_pb2.Cost]):
    """Node-seconds that jobs have cost beyond their runs."""

    __slots__ = ()

    @property
    def held(self) -> int:
        """Of nodes that were held unused for mates."""
        return self._message.held

    @property
    def booked(self) -> int:
        """Of nodes that were kept unused while mates' domains were asked."""
        return self._message.booked

    @property
    def pushed(self) -> int:
        """By which starts before their turn have pushed the first jobs of the queue."""
        return self._message.pushed

    @property
    def slots(self) -> int:
        """Of nodes that were free for jobs with slots, which waited for their mates."""
        return self._message.slots

    @property
    def charged(self) -> int:
        """What the jobs' owners are charged for: held and booked."""
        return self.held + self.booked


class Outlook(View[explain_pb2.Outlook]):
    """When a job is expected to start for its own part, and why it waits."""

    __slots__ = ()

    @property
    def domain(self) -> str:
        """Its domain."""
        return self._message.job.domain

    @property
    def id(self) -> str | None:
        """Its id there; None: unknown."""
        return self._message.job.job_id or None

    @property
    def state(self) -> str | None:
        """Its state, as of Job; None: not known."""
        return word(JOB_STATES, self._message.state)

    @property
    def start(self) -> Estimate | None:
        """When it could start; None: it has started or ended, or nobody can tell."""
        return Estimate(self._message.start) if self._message.HasField("start") else None

    @property
    def position(self) -> int | None:
        """Its place in the queue, from 1; None: it is in none, or that is unknown."""
        return self._message.position or None

    @property
    def queued(self) -> int | None:
        """How many jobs are in that queue; None: unknown."""
        return self._message.queued or None

    @property
    def position_at(self) -> datetime | None:
        """When a batch system's queue was looked at for the place, which is estimated; None: it is in cosched's own."""
        return when(self._message, "position_at")

    @property
    def reason(self) -> Reason | None:
        """Why it waits; None: it does not, or that is unknown."""
        return Reason(self._message.reason) if self._message.HasField("reason") else None

    @property
    def nodes(self) -> int:
        """How many nodes it needs, or has."""
        return self._message.nodes

    @property
    def submitted_at(self) -> datetime | None:
        """When it was submitted."""
        return when(self._message, "submitted_at")

    @property
    def started_at(self) -> datetime | None:
        """When it started."""
        return when(self._message, "started_at")

    @property
    def ended_at(self) -> datetime | None:
        """When it ended."""
        return when(self._message, "ended_at")

    @property
    def cost(self) -> Cost | None:
        """What it has cost beyond its run so far; None: it has no mate, or that is unknown."""
        return Cost(self._message.cost) if self._message.HasField("cost") else None

    @property
    def problem(self) -> str:
        """Why nothing is known; empty if it is."""
        return self._message.problem

    @property
    def near(self) -> str:
        """A name almost as that of the pair or group, by which another job waits there, as `problem` says; or empty."""
        return self._message.near

    @property
    def size(self) -> str:
        """How many nodes were chosen for it, or will be by the plan, and why; empty: it has what it asks for."""
        return self._message.size

    def __str__(self) -> str:
        return f"{self.domain}:{self.id}" if self.id else self.domain


class Explanation(View[explain_pb2.Explanation]):
    """When and why, of a job and its mates."""

    __slots__ = ()

    @property
    def job(self) -> Outlook:
        """The job."""
        return Outlook(self._message.job)

    @property
    def mates(self) -> tuple[Outlook, ...]:
        """Its mate, or the other members of its group."""
        return tuple(map(Outlook, self._message.mates))

    @property
    def together(self) -> Estimate | None:
        """When all are expected to start together; None: not known of all, or it has no mates."""
        return Estimate(self._message.together) if self._message.HasField("together") else None


def _values(message: Any) -> dict[str, Any]:
    """Return all fields of a reason in plain values; those that are absent are left out."""
    found: dict[str, Any] = {}
    for field in message.DESCRIPTOR.fields:
        value = getattr(message, field.name)
        if field.has_presence and not message.HasField(field.name):
            continue
        found[field.name] = _plain(field, value)
    return found


def _plain(field: Any, value: Any) -> Any:
    if field.message_type is None:
        return field.enum_type.values_by_number[value].name.lower() if field.enum_type else _listed(value)
    if field.message_type.name == "Timestamp":
        return instant(value)
    return f"{value.domain}:{value.job_id}" if value.job_id else value.domain  # a JobRef


def _listed(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool) else tuple(value)
