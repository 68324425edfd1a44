"""A job, its mate and its holds, as a domain describes them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from cosched.client.view import UNKNOWN, View, reference, span, when, word, words
from cosched.v1 import coscheduling_pb2, job_pb2

JOB_STATES = words(job_pb2.JobState, "JOB_STATE_")
LOOKUPS = words(coscheduling_pb2.MateLookup, "MATE_LOOKUP_")
PROBLEMS = words(coscheduling_pb2.MateProblem, "MATE_PROBLEM_")
MATE_STATUSES = words(coscheduling_pb2.MateStatus, "MATE_STATUS_")


class Job(View[job_pb2.Job]):
    """A job of a domain."""

    __slots__ = ()

    @property
    def domain(self) -> str:
        """The domain to which it was submitted."""
        return self._message.ref.domain

    @property
    def id(self) -> str:
        """Its id in that domain."""
        return self._message.ref.job_id

    @property
    def name(self) -> str:
        """The name given by its owner."""
        return self._message.name

    @property
    def owner(self) -> str:
        """Who submitted it."""
        return self._message.owner

    @property
    def account(self) -> str:
        """Which account is charged for nodes that it keeps unused; may be empty."""
        return self._message.account

    @property
    def state(self) -> str:
        """queued, ready, holding, running, completed, failed, cancelled or unknown."""
        return JOB_STATES.get(self._message.state, UNKNOWN)

    @property
    def reason(self) -> str:
        """Why it is in this state: one word, such as MateQueuing, or `kept for DOMAIN:JOB`; may be empty."""
        return self._message.reason

    @property
    def nodes(self) -> int:
        """How many nodes it needs, or has."""
        return self._message.nodes

    @property
    def node_names(self) -> tuple[str, ...]:
        """The names of its nodes; empty: it has none yet, or they have no names."""
        return tuple(self._message.node_names)

    @property
    def time_limit(self) -> timedelta | None:
        """How long it may run."""
        return span(self._message, "time_limit")

    @property
    def submitted_at(self) -> datetime | None:
        """When it was submitted."""
        return when(self._message, "submitted_at")

    @property
    def ready_at(self) -> datetime | None:
        """When it was first selected."""
        return when(self._message, "ready_at")

    @property
    def slot(self) -> datetime | None:
        """When it starts with its mate at the latest, as their domains have agreed; None: it has no slot."""
        return when(self._message, "slot")

    @property
    def started_at(self) -> datetime | None:
        """When it started."""
        return when(self._message, "started_at")

    @property
    def ended_at(self) -> datetime | None:
        """When it ended."""
        return when(self._message, "ended_at")

    @property
    def expected_end(self) -> datetime | None:
        """When its nodes are expected back; None: it does not run, or that is not known."""
        return when(self._message, "expected_end")

    @property
    def latest_end(self) -> datetime | None:
        """When its time limit ends it, whatever sizes it has until then; None: see `expected_end`."""
        return when(self._message, "latest_end")

    @property
    def exit_code(self) -> int | None:
        """Its exit code; None if it has not ended or the code is unknown."""
        return self._message.exit_code if self._message.HasField("exit_code") else None

    @property
    def mates(self) -> tuple[Mate, ...]:
        """Its mates; at present at most one."""
        return tuple(map(Mate, self._message.mates))

    @property
    def group(self) -> Group | None:
        """The group that it is in; None: it is in none."""
        return Group(self._message.group) if self._message.HasField("group") else None

    @property
    def malleable(self) -> Malleable | None:
        """How its size may change while it runs; None: it does not."""
        return Malleable(self._message.malleable) if self._message.HasField("malleable") else None

    @property
    def columns(self) -> Mapping[str, str]:
        """What it says of itself for its scheduler, by name, as it was submitted."""
        return dict(self._message.columns)

    @property
    def holds(self) -> Holds:
        """Its holds and yields so far."""
        return Holds(self._message.holds)

    def __str__(self) -> str:
        return reference(self._message.ref)


class Malleable(View[job_pb2.Malleable]):
    """A job whose size may change while it runs; `Job.nodes` is what its scheduler gives to it."""

    __slots__ = ()

    @property
    def least(self) -> int:
        """The fewest nodes on which it runs."""
        return self._message.least

    @property
    def ideal(self) -> int:
        """The most that it can use."""
        return self._message.ideal

    @property
    def using(self) -> int:
        """On how many it says that it runs; 0: it does not run."""
        return self._message.using

    @property
    def told_at(self) -> datetime | None:
        """When it was told to use others; None: it has answered."""
        return when(self._message, "told_at")

    @property
    def exec_time(self) -> float | None:
        """How many seconds an iteration takes on what it uses, as it says; None: it has not said."""
        return self._message.iterations.exec_time if self._message.HasField("iterations") else None

    @property
    def predictions(self) -> tuple[Prediction, ...]:
        """What it predicts of its least, of what its scheduler gives to it, and of its ideal; empty: nothing."""
        return tuple(Prediction(told) for told in self._message.predictions)


class Prediction(View[job_pb2.Prediction]):
    """What a job predicts of a number of nodes, in seconds."""

    __slots__ = ()

    @property
    def nodes(self) -> int:
        """So many nodes."""
        return self._message.nodes

    @property
    def exec_time(self) -> float:
        """How long an iteration takes."""
        return self._message.exec_time

    @property
    def exec_time_comp(self) -> float:
        """The computation in it; 0: not known."""
        return self._message.exec_time_comp

    @property
    def exec_time_comm(self) -> float:
        """The communication in it; 0: not known."""
        return self._message.exec_time_comm

    @property
    def cost(self) -> float:
        """For how long an adaptation stops the job while it has these."""
        return self._message.cost


class Mate(View[job_pb2.Mate]):
    """A job's mate, and what the job's domain knows of it."""

    __slots__ = ()

    @property
    def domain(self) -> str:
        """The mate's domain."""
        return self._message.job.domain or self._message.name.job.domain or self._message.name.pair.domain

    @property
    def id(self) -> str | None:
        """Its id there, if known."""
        return self._message.job.job_id or self._message.name.job.job_id or None

    @property
    def pair(self) -> str | None:
        """The name of the pair, if the mate was named by it."""
        return self._message.name.pair.name or None

    @property
    def lookup(self) -> str | None:
        """What its domain answered: found, unsubmitted or no_pair; None: no answer yet."""
        return word(LOOKUPS, self._message.lookup)

    @property
    def problem(self) -> str | None:
        """Why there is no such mate: unknown, completed, other_owner, ...; None: its domain gives no reason."""
        return PROBLEMS.get(self._message.problem)

    @property
    def or_alone(self) -> bool:
        """Whether the job starts alone if there is no such mate."""
        return self._message.or_alone

    @property
    def status(self) -> str | None:
        """Its last known state: holding, queuing, running, ...; None: its domain has not told any."""
        return word(MATE_STATUSES, self._message.status)

    @property
    def heard_at(self) -> datetime | None:
        """When its domain last told its state."""
        return when(self._message, "heard_at")

    @property
    def gap(self) -> timedelta | None:
        """How much later than this mate the job started, if they did not start together."""
        return span(self._message, "gap")

    def __str__(self) -> str:
        return f"{self.domain}:{self.id}" if self.id else f"{self.pair}@{self.domain}"


class Group(View[job_pb2.Group]):
    """A job's group: one job on each of several domains, which start together."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """Its name, which all its jobs were submitted with."""
        return self._message.name

    @property
    def members(self) -> tuple[Member, ...]:
        """The other members, by domain."""
        return tuple(map(Member, self._message.members))

    @property
    def windows(self) -> dict[str, tuple[timedelta, timedelta]]:
        """When its jobs start that have windows, by domain: from the first to the second, after those without."""
        named = self._message.windows
        return {of.domain: (of.earliest.ToTimedelta(), of.latest.ToTimedelta()) for of in named}

    @property
    def at(self) -> datetime | None:
        """The instant at which its jobs without windows start, if it was given."""
        return when(self._message, "at")

    @property
    def or_alone(self) -> bool:
        """Whether the job goes on without members that it cannot have."""
        return self._message.or_alone

    @property
    def gap(self) -> timedelta | None:
        """How much later than the first of the others the job started, if they did not start together."""
        return span(self._message, "gap")

    def __str__(self) -> str:
        return f"{self.name}@{'+'.join(member.domain for member in self.members)}"


class Member(View[job_pb2.Member]):
    """Another member of a job's group, and what the job's domain knows of it."""

    __slots__ = ()

    @property
    def domain(self) -> str:
        """Its domain."""
        return self._message.domain

    @property
    def id(self) -> str | None:
        """Its id there; None: it is not submitted yet, as far as is known."""
        return self._message.job.job_id or None

    @property
    def status(self) -> str | None:
        """Its last known state: holding, queuing, running, ...; None: its domain has not told any."""
        return word(MATE_STATUSES, self._message.status)

    @property
    def problem(self) -> str | None:
        """Why there is no such member: other_domains, no_groups, ...; None: there is, or its domain gives no reason."""
        return PROBLEMS.get(self._message.problem)

    @property
    def starts_by(self) -> datetime | None:
        """By when it starts, as the windows of the group say, once the job has started with its group."""
        return when(self._message, "starts_by")

    def __str__(self) -> str:
        return f"{self.domain}:{self.id}" if self.id else self.domain


class Holds(View[job_pb2.HoldRecord]):
    """A job's holds and yields so far."""

    __slots__ = ()

    @property
    def holds(self) -> int:
        """How often it has held."""
        return self._message.holds

    @property
    def yields(self) -> int:
        """How often it has yielded."""
        return self._message.yields

    @property
    def held_node_seconds(self) -> int:
        """The node-seconds that it held without using them."""
        return self._message.held_node_seconds

    @property
    def generation(self) -> int:
        """The number of its last hold; 0: none."""
        return self._message.hold_generation

    @property
    def until(self) -> datetime | None:
        """When the hold in force ends; of a ready job: until when it is kept for a start, as its reason says."""
        return when(self._message, "hold_until")

    @property
    def forever(self) -> bool:
        """Whether the hold in force has no release timer."""
        return self._message.hold_forever
