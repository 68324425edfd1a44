"""When a job and its mates are expected to start, and why they wait, as their domains tell."""

from __future__ import annotations

from datetime import UTC, timedelta
from typing import Any

from cosched.client.fields import always, duration, if_any, if_given, instant, many, part, plain, word_if_any, words
from cosched.client.jobs import JOB_STATES
from cosched.client.view import View
from cosched.v1 import explain_pb2

SOURCES = words(explain_pb2.EstimateSource, "ESTIMATE_SOURCE_")


class Estimate(View[explain_pb2.Estimate]):
    """An expected start."""

    at = always("When.")
    made_at = always("When this was estimated.")
    source = word_if_any(
        SOURCES, "By whom: plan, batch_system, slot (it is agreed), has_nodes (it waits for its mate only)."
    )
    nodes = if_any(int, "On how many nodes, if the scheduler chooses that; None: on as many as the job asks for.")

    @property
    def earliest(self) -> timedelta | None:
        """How long after `at` it starts at the earliest, if it is missed as `within` of the last `of` such were.

        A miss counts as a share of the time ahead. Negative: before `at`. None: there were too few, or it is near.
        """
        return self._deviation("earliest")

    @property
    def latest(self) -> timedelta | None:
        """How long after `at` it starts at the latest; see `earliest`."""
        return self._deviation("latest")

    within = plain(int, "See `earliest`.", "accuracy.within")
    of = plain(int, "See `earliest`.", "accuracy.of")

    def _deviation(self, name: str) -> timedelta | None:
        given = self._message.HasField("accuracy")
        return getattr(self._message.accuracy, name).ToTimedelta() if given else None


def how_good(estimate: Estimate) -> str:
    """Say how long the waits until such starts were, beside what was expected; empty: that is not known."""
    ahead = (estimate.at - estimate.made_at).total_seconds()
    if estimate.earliest is None or estimate.latest is None or ahead <= 0:
        return ""
    low, high = (max(0.0, 1 + late.total_seconds() / ahead) for late in (estimate.earliest, estimate.latest))
    return f"{estimate.within} of the last {estimate.of} such waits were {low:.2g} to {high:.2g} times as long"


class Reason(View[explain_pb2.Reason]):
    """Why a job waits."""

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

    text = plain(str, "One sentence for people.")
    change = plain(str, "The command or the setting that changes it; empty: nothing but time.")


class Cost(View[explain_pb2.Cost]):
    """Node-seconds that jobs have cost beyond their runs."""

    held = plain(int, "Of nodes that were held unused for mates.")
    booked = plain(int, "Of nodes that were kept unused while mates' domains were asked.")
    pushed = plain(int, "By which starts before their turn have pushed the first jobs of the queue.")
    slots = plain(int, "Of nodes that were free for jobs with slots, which waited for their mates.")

    @property
    def charged(self) -> int:
        """What the jobs' owners are charged for: held and booked."""
        return self.held + self.booked


class AwaitsSuccessor(View[explain_pb2.AwaitsSuccessor]):
    """Another job may come in the place of a mate that its owner has cancelled before any started."""

    until = always("Until when that is waited for.")
    then = plain(str, "What the job does then, if none has come.")


class Outlook(View[explain_pb2.Outlook]):
    """When a job is expected to start for its own part, and why it waits."""

    domain = plain(str, "Its domain.", "job.domain")
    id = if_any(str, "Its id there; None: unknown.", "job.job_id")

    @property
    def state(self) -> str | None:
        """Its state, as of Job; None: not known."""
        return "starting" if self._message.starting else JOB_STATES.get(self._message.state)

    start = if_given(Estimate, "When it could start; None: it has started or ended, or nobody can tell.")
    position = if_any(int, "Its place in the queue, from 1; None: it is in none, or that is unknown.")
    queued = if_any(int, "How many jobs are in that queue; None: unknown.")
    position_at = instant(
        "When a batch system's queue was looked at for the place, which is estimated; None: it is in cosched's own."
    )
    reason = if_given(Reason, "Why it waits; None: it does not, or that is unknown.")
    nodes = plain(int, "How many nodes it needs, or has.")
    submitted_at = instant("When it was submitted.")
    started_at = instant("When its resource manager began to run it.")
    ended_at = instant("When it ended.")
    gap = duration("Of a job of a pair: how much later it began than its mate, by one clock; None: not known.")
    cost = if_given(Cost, "What it has cost beyond its run so far; None: it has no mate, or that is unknown.")
    problem = plain(str, "Why nothing is known; empty if it is.")
    near = plain(
        str,
        "A name almost as that of the pair or group, by which another job waits there, as `problem` says; or empty.",
    )
    size = plain(
        str, "How many nodes were chosen for it, or will be by the plan, and why; empty: it has what it asks for."
    )
    successor = if_given(AwaitsSuccessor, "Until when it waits for another in the place of a mate that has ended.")

    def __str__(self) -> str:
        return f"{self.domain}:{self.id}" if self.id else self.domain


class Explanation(View[explain_pb2.Explanation]):
    """When and why, of a job and its mates."""

    job = part(Outlook, "The job.")
    mates = many(Outlook, "Its mate, or the other members of its group.")
    together = if_given(
        Estimate, "When all are expected to start together; None: not known of all, or it has no mates."
    )


def _values(message: Any) -> dict[str, Any]:
    """Return all fields of a reason in plain values; those that are absent are left out."""
    given = (field for field in message.DESCRIPTOR.fields if not field.has_presence or message.HasField(field.name))
    return {field.name: _plain(field, getattr(message, field.name)) for field in given}


def _plain(field: Any, value: Any) -> Any:
    if field.enum_type is not None:
        return field.enum_type.values_by_number[value].name.lower()
    if field.message_type is None:
        return value if isinstance(value, str | int | float | bool) else tuple(value)
    if field.message_type.name == "Timestamp":
        return value.ToDatetime(UTC)
    return f"{value.domain}:{value.job_id}" if value.job_id else value.domain  # a JobRef
