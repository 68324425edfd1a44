"""A job, its mate and its holds, as a domain describes them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from cosched.client.fields import (
    UNKNOWN,
    duration,
    if_any,
    if_given,
    instant,
    known_word,
    many,
    part,
    plain,
    reference,
    word_if_any,
    words,
)
from cosched.client.terms import Terms
from cosched.client.view import View
from cosched.v1 import coscheduling_pb2, job_pb2

JOB_STATES = words(job_pb2.JobState, "JOB_STATE_")
LOOKUPS = words(coscheduling_pb2.MateLookup, "MATE_LOOKUP_")
PROBLEMS = words(coscheduling_pb2.MateProblem, "MATE_PROBLEM_")
MATE_STATUSES = words(coscheduling_pb2.MateStatus, "MATE_STATUS_")


class Holds(View[job_pb2.HoldRecord]):
    """A job's holds and yields so far."""

    holds = plain(int, "How often it has held.")
    yields = plain(int, "How often it has yielded.")
    held_node_seconds = plain(int, "The node-seconds that it held without using them.")
    generation = plain(int, "The number of its last hold; 0: none.", "hold_generation")
    until = instant(
        "When the hold in force ends; of a ready job: until when it is kept for a start, as its reason says.",
        "hold_until",
    )
    forever = plain(bool, "Whether the hold in force has no release timer.", "hold_forever")


class Mate(View[job_pb2.Mate]):
    """A job's mate, and what the job's domain knows of it."""

    @property
    def domain(self) -> str:
        """The mate's domain."""
        return self._message.job.domain or self._message.name.job.domain or self._message.name.pair.domain

    @property
    def id(self) -> str | None:
        """Its id there, if known."""
        return self._message.job.job_id or self._message.name.job.job_id or None

    pair = if_any(str, "The name of the pair, if the mate was named by it.", "name.pair.name")
    lookup = word_if_any(LOOKUPS, "What its domain answered: found, unsubmitted or no_pair; None: no answer yet.")

    problem = known_word(
        PROBLEMS, "Why there is no such mate: unknown, completed, other_owner, ...; None: its domain gives no reason."
    )
    or_alone = plain(bool, "Whether the job starts alone if there is no such mate.")
    terms = if_given(Terms, "What the job does when its mate ends, or is queued again; None: nothing.")
    status = word_if_any(
        MATE_STATUSES, "Its last known state: holding, queuing, running, ...; None: its domain has not told any."
    )
    heard_at = instant("When its domain last told its state.")
    gap = duration("How much later than this mate the job began; negative: before it; None: not known yet.")

    def __str__(self) -> str:
        return f"{self.domain}:{self.id}" if self.id else f"{self.pair}@{self.domain}"


class Member(View[job_pb2.Member]):
    """Another member of a job's group, and what the job's domain knows of it."""

    domain = plain(str, "Its domain.")
    id = if_any(str, "Its id there; None: it is not submitted yet, as far as is known.", "job.job_id")
    status = word_if_any(
        MATE_STATUSES, "Its last known state: holding, queuing, running, ...; None: its domain has not told any."
    )

    problem = known_word(
        PROBLEMS,
        "Why there is no such member: other_domains, no_groups, ...; None: there is, or its domain gives no reason.",
    )
    starts_by = instant("By when it starts, as the windows of the group say, once the job has started with its group.")
    heard_at = instant("When its domain last told its state.")

    def __str__(self) -> str:
        return f"{self.domain}:{self.id}" if self.id else self.domain


class Group(View[job_pb2.Group]):
    """A job's group: one job on each of several domains, which start together."""

    name = plain(str, "Its name, which all its jobs were submitted with.")
    members = many(Member, "The other members, by domain.")

    @property
    def windows(self) -> dict[str, tuple[timedelta, timedelta]]:
        """When its jobs start that have windows, by domain: from the first to the second, after those without."""
        return {of.domain: (of.earliest.ToTimedelta(), of.latest.ToTimedelta()) for of in self._message.windows}

    at = instant("The instant at which its jobs without windows start, if it was given.")
    or_alone = plain(bool, "Whether the job goes on without members that it cannot have.")
    terms = if_given(Terms, "What the job does when others end, or are queued again; None: nothing.")
    gap = duration(
        "How much later than the first of the others the job began; negative: before the last; None: not known yet."
    )

    def __str__(self) -> str:
        return f"{self.name}@{'+'.join(member.domain for member in self.members)}"


class Prediction(View[job_pb2.Prediction]):
    """What a job predicts of a number of nodes, in seconds."""

    nodes = plain(int, "So many nodes.")
    exec_time = plain(float, "How long an iteration takes.")
    exec_time_comp = plain(float, "The computation in it; 0: not known.")
    exec_time_comm = plain(float, "The communication in it; 0: not known.")
    cost = plain(float, "For how long an adaptation stops the job while it has these.")


class Malleable(View[job_pb2.Malleable]):
    """A job whose size may change while it runs; `Job.nodes` is what its scheduler gives to it."""

    least = plain(int, "The fewest nodes on which it runs.")
    ideal = plain(int, "The most that it can use.")
    using = plain(int, "On how many it says that it runs; 0: it does not run.")
    told_at = instant("When it was told to use others; None: it has answered.")

    @property
    def exec_time(self) -> float | None:
        """How many seconds an iteration takes on what it uses, as it says; None: it has not said."""
        return self._message.iterations.exec_time if self._message.HasField("iterations") else None

    predictions = many(
        Prediction, "What it predicts of its least, of what its scheduler gives it, and of its ideal; empty: nothing."
    )


class Job(View[job_pb2.Job]):
    """A job of a domain."""

    domain = plain(str, "The domain to which it was submitted.", "ref.domain")
    id = plain(str, "Its id in that domain.", "ref.job_id")
    name = plain(str, "The name given by its owner.")
    owner = plain(str, "Who submitted it.")
    account = plain(str, "Which account is charged for nodes that it keeps unused; may be empty.")

    @property
    def state(self) -> str:
        """queued, ready, holding, starting, running, completed, failed, cancelled or unknown.

        Starting: its start was ordered, and its resource manager has not begun it yet.
        """
        return "starting" if self._message.starting else JOB_STATES.get(self._message.state, UNKNOWN)

    reason = plain(
        str, "Why it is in this state: one word, such as MateQueuing, or `kept for DOMAIN:JOB`; may be empty."
    )
    nodes = plain(int, "How many nodes it needs, or has.")
    node_names = many(str, "The names of its nodes; empty: it has none yet, or they have no names.")
    time_limit = duration("How long it may run.")
    submitted_at = instant("When it was submitted.")
    ready_at = instant("When it was first selected.")
    slot = instant("When it starts with its mate at the latest, as their domains have agreed; None: it has no slot.")
    started_at = instant("When its resource manager began to run it.")
    ended_at = instant("When it ended.")
    expected_end = instant("When its nodes are expected back; None: it does not run, or that is not known.")
    latest_end = instant("When its time limit ends it, whatever sizes it has until then; None: see `expected_end`.")
    exit_code = if_given(int, "Its exit code; None if it has not ended or the code is unknown.")
    mates = many(Mate, "Its mates; at present at most one.")
    adoptable = plain(bool, "Whether it names nobody, and a job of its owner that names it by its id may have it.")
    group = if_given(Group, "The group that it is in; None: it is in none.")
    malleable = if_given(Malleable, "How its size may change while it runs; None: it does not.")

    @property
    def columns(self) -> Mapping[str, str]:
        """What it says of itself for its scheduler, by name, as it was submitted."""
        return dict(self._message.columns)

    holds = part(Holds, "Its holds and yields so far.")

    def __str__(self) -> str:
        return reference(self._message.ref)
