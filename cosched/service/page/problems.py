"""What is wrong, the worst first, in words, and what to do about it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from enum import IntEnum

from cosched.client import Domain, Peer
from cosched.core.protocol import FOREVER
from cosched.service.configuration import Configuration
from cosched.service.page.listing import Sums
from cosched.service.page.words import ago, count, milliseconds, span, until
from cosched.service.store import JobRecord

_APART = "no pair with it starts together"
_SERVES = "Does cosched serve run there? "
LONG_HOLD = 600  # seconds
LONG_UNSUBMITTED = 3600


class Weight(IntEnum):
    """How bad something is; the values are the order on the page."""

    STOPS = 0  # pairs do not work
    HURTS = 1  # nodes or starts are lost
    TELLS = 2  # good to know


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong, in a few words (`head`) and in more; `job`: it is about this one."""

    weight: Weight
    head: str
    what: str
    todo: str  # for whoever can mend it
    job: int | None = None


@dataclass(frozen=True, slots=True)
class Situation:
    """What is known of the domain at an instant; `seen` are ids of jobs that may be named."""

    domain: Domain
    configuration: Configuration
    stalled: str | None
    sums: Sums
    sees: Callable[[JobRecord], bool]  # whether the viewer may see a job
    without: Callable[[str], str]  # what a job does while this peer gives no answer
    now: datetime
    instant: int  # the same in the service's own time


def problems(situation: Situation) -> list[Problem]:
    """Return what is wrong, the worst first."""
    found = list(_stalled(situation))
    for peer in situation.domain.peers:
        found += _of_peer(situation, peer)
    for kind in (_drains, _cap, _holds, _each_other, _unknown, _unsubmitted):
        found += kind(situation)
    return sorted(found, key=lambda problem: problem.weight)


def glance(domain: Domain, found: Sequence[Problem]) -> str:
    """Say in a line what somebody must know who reads no more; `found`: the problems, the worst first."""
    if found:
        return f"{found[0].head}{f'; {len(found) - 1} more' if len(found) > 1 else ''}"
    if not domain.peers:
        return "No peer is configured, so no job here has a mate"
    first, *more = domain.peers
    return f"All is well: {f'all {len(domain.peers)} peers answer' if more else f'{first.name} answers'}"


def _stalled(situation: Situation) -> Iterator[Problem]:
    if situation.stalled is not None:
        head, what = "This domain does not work: no job starts", f"This domain does not work: {situation.stalled}."
        todo = "Nothing is lost, and jobs run on. Look at the service's log, and at the disk of its database."
        yield Problem(Weight.STOPS, head, what, todo)


def _of_peer(situation: Situation, peer: Peer) -> Iterator[Problem]:
    since = until(peer.since, situation.now)
    waits = f"jobs here that wait for its jobs: {situation.sums.waiting[peer.name]}"
    without = f"A job that becomes ready {situation.without(peer.name)}."
    if peer.state == "refused":
        todo = "A misconfiguration: cosched doctor, run on both hosts, names the key or the certificate."
        what = f"{peer.name} and this domain refuse each other for {since}: {peer.problem}."
        yield Problem(Weight.STOPS, f"{peer.name} and this domain refuse each other: {_APART}", what, todo)
    elif peer.stopped_at is not None:
        late = peer.back_by is not None and peer.back_by < situation.now
        back = f"said that it would be back {ago(peer.back_by, situation.now) if peer.back_by else 'soon'}"
        what = f"{peer.name} stopped in order {ago(peer.stopped_at, situation.now)}, and {back}; {waits}."
        weight, head = Weight.HURTS, "stopped in order, and will be back"
        if late:
            weight, head, without = Weight.STOPS, f"is not back in time: {_APART}", f"{_SERVES}{without}"
        yield Problem(weight, f"{peer.name} {head}", what, without)
    elif peer.state == "unreachable":
        what = f"{peer.name} gives no answer for {since}; {waits}."
        yield Problem(Weight.STOPS, f"{peer.name} gives no answer: {_APART}", what, f"{_SERVES}{without}")
    elif peer.state == "unknown":
        what = f"{peer.name} has not been heard since this domain serves; {waits}."
        yield Problem(Weight.TELLS, f"{peer.name} has not been heard yet", what, "Its first answer takes seconds.")
    elif peer.problem:
        todo = "Its operators know more; cosched resume, there, ends a drain."
        does = "drains" if peer.problem.startswith("drains") else "does not work as it should"
        yield Problem(Weight.TELLS, f"{peer.name} {does}", f"{peer.name}: {peer.problem}.", todo)
    most = timedelta(seconds=float(situation.configuration.coscheduling.max_clock_offset))
    if peer.clock_offset is not None and abs(peer.clock_offset) > most > timedelta(0):
        head = f"The clock of {peer.name} is off: pairs agree on no instant"
        what = f"The clock of {peer.name} is {milliseconds(peer.clock_offset)} off, so pairs agree on no instant."
        todo = "Let a time service (chrony, ntpd) set the clocks of both hosts."
        yield Problem(Weight.HURTS, head, what, todo)


def _drains(situation: Situation) -> Iterator[Problem]:
    drain = situation.domain.drain
    if drain is None:
        return
    weight, head = Weight.TELLS, "This domain drains: no pairs are made"
    what = f"This domain drains, for {until(drain.since, situation.now)} now, and makes no holds and no pairs"
    if drain.until is not None and drain.until < situation.now:
        weight, head = Weight.HURTS, "The end of the drain here is overdue: no pairs are made"
        what += f"; that it would be over was expected {until(drain.until, situation.now)} ago"
    yield Problem(weight, head, f"{what}.", "When the maintenance is done: cosched resume.")


def _cap(situation: Situation) -> Iterator[Problem]:
    nodes = situation.domain.nodes
    cap = Decimal(situation.domain.max_held_fraction or "1") * sum(nodes.values())
    if nodes["held"] and nodes["held"] >= cap:
        what = f"Holds keep {count(nodes['held'], 'node')}, as many as they may: other jobs yield instead."
        todo = 'A shorter release_interval, or scheme = "meet", holds fewer nodes.'
        yield Problem(Weight.HURTS, "Holds keep as many nodes as they may", what, todo)


def _holds(situation: Situation) -> Iterator[Problem]:
    holding = situation.sums.holding
    if not holding:
        return
    oldest = min(holding, key=_held_since)
    lasts = situation.instant - _held_since(oldest)
    if lasts < LONG_HOLD:
        return
    kept = sum(record.node_count for record in holding)
    head = f"Nodes held idle for up to {span(lasts)}: {kept}"
    by = f"{count(kept, 'node')}, by {count(len(holding), 'job')}"
    what = f"Held idle for mates: {by}; the longest hold has lasted {span(lasts)}."
    forever = oldest.job.held_until >= FOREVER
    ends = "It never ends by itself (release_interval = 0)." if forever else "It ends by itself."
    todo = f"{ends} cosched release {oldest.id} ends it now, cosched unlink {oldest.id} starts the job alone."
    seen = situation.sees(oldest)
    yield Problem(Weight.HURTS, head, what, todo if seen else ends, oldest.id if seen else None)


def _each_other(situation: Situation) -> Iterator[Problem]:
    """Nodes are held here for jobs of a peer, and there for jobs of ours: neither side's jobs may find room."""
    for peer in situation.domain.peers:
        here, there = situation.sums.held_here[peer.name], situation.sums.held_there[peer.name]
        if here and there:
            never = situation.configuration.coscheduling_settings().release_interval == 0
            head = f"Holds here and on {peer.name} wait for each other"
            held = f"Holds here for {peer.name}: {here}; holds there for this domain: {there}."
            todo = "With release_interval = 0 this may last for ever: set one."
            weight, todo = (Weight.STOPS, todo) if never else (Weight.TELLS, "The next release ends it.")
            yield Problem(weight, head, f"{held} They wait for each other.", todo)


def _unknown(situation: Situation) -> Iterator[Problem]:
    wrong = situation.sums.wrong
    if not wrong:
        return
    named = next((record.id for record in wrong if situation.sees(record)), None)
    what = f"Jobs whose mate does not exist, or will not run: {len(wrong)}. They wait."
    job = "ID" if named is None else named
    todo = f"cosched link {job} DOMAIN:ID names another mate, cosched unlink {job} lets the job start alone."
    yield Problem(Weight.HURTS, f"{count(len(wrong), 'job')} with mates that will not run", what, todo, named)


def _unsubmitted(situation: Situation) -> Iterator[Problem]:
    since = situation.instant - LONG_UNSUBMITTED
    waiting = [record for record in situation.sums.unsubmitted if record.submitted_at < since]
    if not waiting:
        return
    oldest = min(waiting, key=lambda record: record.submitted_at)
    lasts, patience = span(situation.instant - oldest.submitted_at), situation.configuration.coscheduling.mate_patience
    what = f"Jobs whose mates nobody has submitted: {len(waiting)}; the longest has waited for {lasts}."
    then = f"After {span(patience)} a job starts alone (mate_patience)." if patience is not None else ""
    seen = oldest.id if situation.sees(oldest) else None
    head = f"{count(len(waiting), 'job')} long without a submitted mate"
    yield Problem(Weight.TELLS, head, what, f"Submit the mate, or cosched unlink the job. {then}".strip(), seen)


def _held_since(record: JobRecord) -> int:
    return record.job.held_since or record.submitted_at
