"""What jobs cost beyond their runs, who is charged for it, and the budgets of accounts.

A job is charged, with its owner and its account, for the nodes that it keeps unused on its own domain: those that it
holds, and those that are booked, given to it while its mate's domain is asked. A malleable job keeps its least. It is
not charged for nodes that its mate keeps. What a start before its turn has pushed the first job of the queue by is
counted with the nodes of the job that started, and not charged; the same holds for how long nodes were free for a job
that waited for its slot, though others could have them for as long.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Self

from cosched.core.job import JobState
from cosched.core.protocol import Domain, JobId
from cosched.service.configuration import Configuration
from cosched.service.store import JobRecord

HOUR = 3600
DAY = 24  # hours that a budget is for: the present one and those before it


class Cost(NamedTuple):
    """Node-seconds."""

    held: int = 0
    booked: int = 0
    pushed: int = 0
    slots: int = 0

    def plus(self, other: Cost) -> Cost:
        """Both together."""
        return Cost(*map(sum, zip(self, other, strict=True)))


class Charge(NamedTuple):
    """Who is charged; its fields are columns of the table charges."""

    job: int
    hour: int
    owner: str
    account: str
    pair: str


class Followed(NamedTuple):
    """What a job has cost so far, in node-seconds; and since when how many nodes are booked for it (None: none)."""

    held: int
    slots: int
    ready_since: int | None = None
    nodes: int = 0


@dataclass(frozen=True, slots=True)
class Accounts:
    """Accounts: of owners, for jobs that have none of their own; by account how many node-seconds may be held a day."""

    of_owner: Mapping[str, str] = field(default_factory=dict)
    budgets: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, configuration: Configuration) -> Self:
        """Return those of a configuration."""
        of_owner = {user: account.name for account in configuration.accounts for user in account.users}
        budgets = ((account.name, account.max_held_node_hours) for account in configuration.accounts)
        return cls(of_owner, {name: int(hours * HOUR) for name, hours in budgets if hours is not None})


NO_ACCOUNTS = Accounts()


class Charges:
    """The charges of one domain: those of the present turn, and what accounts have used up in the last day."""

    def __init__(
        self, domain: Domain, accounts: Accounts, jobs: Mapping[JobId, JobRecord], new: Callable[[], dict[Charge, Cost]]
    ) -> None:
        """`jobs`: those that have not ended. `new`: what the present turn adds to the record."""
        self.accounts, self._domain = accounts, domain
        self._jobs, self._new = jobs, new
        self._followed: dict[int, Followed] = {}  # by job
        self._held: Counter[tuple[str, int]] = Counter()  # by account and hour

    def recall(self, kept: Iterable[tuple[str, int, int]]) -> None:
        """Take up what was held in the last day: account, hour and node-seconds."""
        for account, hour, held in kept:
            self._held[account, hour] += held

    def take_up(self, record: JobRecord) -> None:
        """Charge what the job costs from now on."""
        self._followed[record.id] = Followed(record.job.held_node_seconds, record.job.slot_node_seconds)

    def follow(self, record: JobRecord, now: int) -> Cost:
        """Charge what the job has cost since the last time by holds and slots that have ended, or booked; return it."""
        job, before = record.job, self._followed.pop(record.id)
        cost = Cost(job.held_node_seconds - before.held, slots=job.slot_node_seconds - before.slots)
        ready_since, nodes = before.ready_since, before.nodes
        if job.state is JobState.READY:
            if ready_since is None:
                ready_since, nodes = now, job.nodes
        elif ready_since is not None:
            cost, ready_since = cost._replace(booked=nodes * (now - ready_since)), None
        if not job.state.final:
            self._followed[record.id] = Followed(job.held_node_seconds, job.slot_node_seconds, ready_since, nodes)
        if any(cost):
            self.add(record, cost, now)
        return cost

    def add(self, record: JobRecord, cost: Cost, now: int) -> None:
        """Note that the job has cost so much more."""
        hour, account, new = now // HOUR, self.account(record), self._new()
        pair = record.group_name
        if pair is None and None not in record.mates.values():  # without a name: both ids, the same on both domains
            ids = {self._domain: record.id, **record.mates}
            pair = "+".join(sorted(f"{domain}:{job}" for domain, job in ids.items()))
        charge = Charge(record.id, hour, record.owner, account, pair or "")
        new[charge] = new[charge].plus(cost) if charge in new else cost
        self._held[account, hour] += cost.held

    def account(self, record: JobRecord) -> str:
        """Return the job's account: the batch system's, or else its owner's; empty: none."""
        return record.account or self.accounts.of_owner.get(record.owner, "")

    def used(self, account: str, now: int) -> int:
        """Node-seconds that the account's jobs have held in the last day, present holds included."""
        first = now // HOUR - DAY
        for key in [key for key in self._held if key[1] <= first]:
            del self._held[key]
        holding = [job for job in self._jobs.values() if job.state is JobState.HOLDING and self.account(job) == account]
        present: int = sum(record.node_count * (now - record.job.held_since) for record in holding)
        return present + sum(held for (whose, _), held in self._held.items() if whose == account)

    def may_hold(self, job: JobId, now: int) -> bool:
        """Return whether the budget of the job's account, if it has one, lets the job begin a hold."""
        if not self.accounts.budgets or (record := self._jobs.get(job)) is None:
            return True
        account = self.account(record)
        budget = self.accounts.budgets.get(account)
        return budget is None or self.used(account, now) < budget
