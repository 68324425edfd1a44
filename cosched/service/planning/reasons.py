"""Why a job waits: a message of its own for each reason, one sentence for people, and what changes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from cosched.core.coscheduling.holds import held_node_cap
from cosched.core.job import WAITING, JobState
from cosched.core.protocol import FOREVER, Domain, MateJobId, MateProblem, MateStatus
from cosched.core.settings import OnMemberLost
from cosched.core.story import Why
from cosched.schedulers.waits import waits_for_nodes
from cosched.service.domain import story
from cosched.service.domain.charges import HOUR
from cosched.service.domain.live_domain import LiveDomain, waits_to_begin
from cosched.service.domain.malleable import least_of
from cosched.service.manager.plans import Plan
from cosched.service.store import JobRecord
from cosched.service.wire.message_parts import PROBLEM
from cosched.v1 import explain_pb2
from cosched.v1.explain_pb2 import AwaitsSuccessor, Reason
from cosched.words.quantities import count
from cosched.words.reasons import REASONS, STARTING, WHY, in_words
from cosched.words.wrong_mates import wrong_mate, wrong_member

ABSENT: Mapping[str, tuple[explain_pb2.Absence, str]] = {
    Why.PEER_UNREACHABLE: (explain_pb2.ABSENCE_UNREACHABLE, "cannot be reached"),
    Why.PEER_AWAY: (explain_pb2.ABSENCE_AWAY, "gives no answer"),
    Why.PEER_BUSY: (explain_pb2.ABSENCE_BUSY, "is too busy to answer"),
    Why.PEER_REFUSED: (explain_pb2.ABSENCE_REFUSES, "refuses this domain: a misconfiguration"),
}
_STARTS = "starts alone"
_WITHOUT_MEMBER: Mapping[OnMemberLost, str] = {
    OnMemberLost.START: _STARTS,
    OnMemberLost.WAIT: "waits without nodes until its owner decides",
    OnMemberLost.CANCEL: "is cancelled, too",
}
OF_QUEUES: Mapping[str, Callable[..., Message]] = {
    "nodes_busy": explain_pb2.NodesBusy,
    "others_first": explain_pb2.OthersFirst,
    "batch_system_says": explain_pb2.BatchSystemSays,
}


@dataclass(frozen=True, slots=True)
class Mate:
    """The mate of a job, or the member of its group that its reason is about; without an id: it is not known."""

    domain: Domain = ""
    id: str = ""
    pair: str = ""  # or the group's name
    of_group: bool = False

    def __str__(self) -> str:
        what = "another member of its group" if self.of_group else "its mate"
        if self.id:
            return f"{what}, {self.domain}:{self.id},"
        return f"{what} on {self.domain}" if self.domain else what


class Reasons:
    """Tells why jobs of one domain wait."""

    def __init__(self, domain: LiveDomain) -> None:
        self._domain = domain
        self._clock = domain.clock
        self._plan = Plan()  # by which it is told

    def of(self, record: JobRecord, plan: Plan) -> Reason | None:
        """Return why an active job waits; None: it does not."""
        self._plan = plan
        if record.is_starting:
            return Reason(text=f"it is about to start, and waits {STARTING[waits_to_begin(self._domain, record)]}")
        if record.state not in WAITING:
            return None
        if record.cancelled_by is not None:
            return Reason(is_cancelled=explain_pb2.IsCancelled(), text=REASONS["Cancelling"])
        if record.user_hold:
            return _on_hold(record, aside=str(record.id) in self._domain.aside)
        if record.state is JobState.READY:
            return self._asks(record)
        if record.slot is not None:
            return self._slot(record, record.slot)
        told = _OF_WORDS.get(record.reason)
        if told is not None and not (record.reason == Why.MATE_QUEUING and self._waits_for_nodes(record, plan)):
            return told(self, record)
        return self._in_queue(record, plan)

    def _waits_for_nodes(self, record: JobRecord, plan: Plan) -> bool:
        """Return whether a job that has yielded could not start now anyway."""
        at = plan.starts.get(str(record.id))
        return record.state is JobState.QUEUED and at is not None and at > plan.made_at

    # It waits in the queue

    def _in_queue(self, record: JobRecord, plan: Plan) -> Reason:
        job, domain = str(record.id), self._domain
        known = domain.known(record).with_kept(record.scheduled)
        ahead = max(0, plan.places.get(job, (1, 0))[0] - 1)
        try:
            what, text, change, detail = domain.kind.why(domain.scheduler, known, ahead, plan.words.get(job, ""))
        except Exception as error:  # whatever a package does: all else can be told
            what, text, change, detail = waits_for_nodes(known.nodes, domain.scheduler.free, ahead)
            text = f"{text}; more cannot be told: {domain.blame(error)}"
        told = Reason(text=text, change=change)
        if what in OF_QUEUES:
            getattr(told, what).CopyFrom(OF_QUEUES[what](**detail))
        else:
            told.scheduler_says.scheduler, told.scheduler_says.word = domain.kind.name, what
        return told

    # It waits for its mate

    def _asks(self, record: JobRecord) -> Reason:
        domains = list(record.mates)
        text = f"it has its nodes, and {' and '.join(domains)} is asked now" if domains else "it is about to start"
        job = self._domain.core.jobs[str(record.id)]
        if job.group is not None and (promise := job.group.promise) is not None:
            text = f"it has its nodes, which are {story.kept_for(promise.proposer, promise.caller)}"
        return Reason(asks_mate=explain_pb2.AsksMate(domains=domains), text=text)

    def _slot(self, record: JobRecord, slot: int) -> Reason:
        agreed = explain_pb2.HasSlot(at=Timestamp(seconds=self._clock.to_wall(slot)))
        others = "its mate" if record.is_pair else "its group"
        text = f"its domain and that of {others} have agreed that they start at {self._time(slot)}, or earlier"
        return Reason(has_slot=agreed, text=text, change=f"cosched unlink {record.id} lets it start alone")

    def _mate_waits(self, record: JobRecord) -> Reason:
        mate, (held, until) = self._mate(record, waits=True), self._hold(record)
        waits = explain_pb2.MateWaits(held=held, held_until=until)
        if mate.domain:
            waits.mate.domain, waits.mate.job_id = mate.domain, mate.id
        text = f"it could start, and lets others go first: {mate} waits in the queue"
        change = f"cosched unlink {record.id} lets it start alone"
        if held:
            text = f"it holds {count(held, 'node')}{self._at_most(record)}: {mate} waits in the queue"
            change += "; how long it holds is release_interval of [coscheduling]"
        return Reason(mate_waits=waits, text=text, change=change)

    def _unsubmitted(self, record: JobRecord) -> Reason:
        mate, (held, _) = self._mate(record, missing=True), self._hold(record)
        if mate.id or not mate.domain:
            return self._mate_waits(record)  # it was submitted after the job has asked
        missing = explain_pb2.MateUnsubmitted(domain=mate.domain, pair=mate.pair, held=held)
        option = "--group" if mate.of_group else "--pair"
        submit = f"cosched submit {option} {mate.pair} there" if mate.pair else "submit it there"
        holds = f"it holds {count(held, 'node')}{self._at_most(record)}: " if held else ""
        change = f"{submit}; cosched unlink {record.id} lets it start without"
        return Reason(mate_unsubmitted=missing, text=f"{holds}{mate} is not submitted yet", change=change)

    def _unknown(self, record: JobRecord) -> Reason:
        named = record.named
        if not named.is_pair:
            domain, problem = self._wrong_member(record)
            missing = explain_pb2.NoSuchMate(domain=domain, pair=named.name)
            text = wrong_member(domain, named.name, problem)
            change = f"cosched unlink {record.id} lets it start without"
        else:
            problem = record.job.problem
            missing = explain_pb2.NoSuchMate(domain=named.peer, job_id=named.mate or "", pair=named.pair or "")
            text = wrong_mate(named.peer, named.mate, named.pair, problem)
            change = f"cosched link {record.id} names another; cosched unlink {record.id} lets it start alone"
        if problem:
            missing.problem = PROBLEM[MateProblem(problem)]
        return Reason(no_such_mate=missing, text=text, change=change)

    def _wrong_member(self, record: JobRecord) -> tuple[Domain, str | None]:
        for domain, told in self._told(record).items():
            if isinstance(told, MateJobId) and told.problem is not None:
                return domain, told.problem
        return "", None

    def _capped(self, record: JobRecord) -> Reason:
        held = self._domain.scheduler.used()[JobState.HOLDING]
        allowed = held_node_cap(self._domain.core.settings, self._domain.scheduler.nodes)
        required, change = self._would_hold(record), "max_held_fraction of [coscheduling]"
        capped = explain_pb2.HoldsCapped(required=required, held=held, allowed=allowed)
        needs = count(required, "node")
        text = f"it would hold {needs}; {held} of at most {allowed} are held already"
        if required > allowed:
            text = f"it is too large to hold here ({needs}, at most {allowed} may be held): it only yields"
            change = f"{change}; cosched unlink {record.id} lets it start alone"
        return Reason(holds_capped=capped, text=text, change=change)

    def _over_budget(self, record: JobRecord) -> Reason:
        charges = self._domain.records.charges
        account = charges.account(record)
        used, allowed = charges.used(account, self._clock.now()), charges.accounts.budgets.get(account, 0)
        over = explain_pb2.HoldsOverBudget(account=account, used=used, allowed=allowed)
        hours, needs = f"{used / HOUR:,.1f} of at most {allowed / HOUR:,.1f}", count(self._would_hold(record), "node")
        text = f"it would hold {needs}; its account {account} has held {hours} node-hours in the last day"
        return Reason(holds_over_budget=over, text=text, change="max_held_node_hours of [[account]]")

    def _no_slot(self, record: JobRecord) -> Reason:
        job, ledger = self._domain.core.jobs[str(record.id)], self._domain.core.ledger
        text = f"slots of jobs with mates on {' and '.join(job.peers)} have kept nodes for as long as they may"
        again = f"; from {self._time(ledger.next_slot(job))} on it may have one"
        return Reason(text=text + again, change="slot_share of [coscheduling]")

    def _peer_absent(self, record: JobRecord) -> Reason:
        mate, (held, _), (absence, what) = self._mate(record, away=True), self._hold(record), ABSENT[record.reason]
        absent = explain_pb2.PeerAbsent(domain=mate.domain, absence=absence, held=held)
        _, until = self._domain.decisions.presence(mate.domain)
        if record.reason == Why.PEER_AWAY and until is not None:
            absent.until.seconds = self._clock.to_wall(until)
        peer, presence = mate.domain or "a domain of its group", self._domain.presence
        text, change = f"{peer} {what}", "cosched doctor tells operators more"
        if record.reason in (Why.PEER_AWAY, Why.PEER_UNREACHABLE):
            follows = presence.without(mate.domain, of_group=mate.of_group)
            text = f"{presence.silent(peer, otherwise=what)}: the job {follows}"
            change = f"{change}; how long it waits is peer_grace of [coscheduling]"
        return Reason(peer_absent=absent, text=text, change=change)

    def _drains(self, record: JobRecord) -> Reason:
        domain, drain = self._domain.name, self._domain.draining.present
        until = None if drain is None else drain.until
        if record.reason != Why.DRAINING:
            domain = self._mate(record).domain
            _, until = self._domain.decisions.presence(domain)
        drains = explain_pb2.DomainDrains(domain=domain)
        if until is not None:
            drains.until.seconds = self._clock.to_wall(until)
        for_how_long = f" until {self._time(until)}, as far as is known" if until is not None else ""
        text = f"{domain or 'a domain of its group'} drains, and makes no pairs{for_how_long}"
        return Reason(domain_drains=drains, text=text, change="cosched resume, by an operator there")

    def _member_lost(self, record: JobRecord) -> Reason:
        lost = explain_pb2.MemberLost(group="" if record.is_pair else record.group_name or "")
        text = in_words(Why.MEMBER_LOST, of_group=not record.is_pair)
        change = f"submit that one again; cosched unlink {record.id} lets it start without"
        return Reason(member_lost=lost, text=text, change=f"{change}; on_member_lost of [coscheduling]")

    def _successor(self, record: JobRecord) -> Reason:
        awaited, text = self.successor(record), in_words(Why.SUCCESSOR, of_group=not record.is_pair)
        if awaited is not None:
            _, kept_until = self._hold(record)
            sooner = kept_until is not None and kept_until.seconds < awaited.until.seconds
            kept = f", with its nodes until {story.utc(kept_until.seconds)}" if kept_until and sooner else ""
            text = f"{text}: it waits for that until {story.utc(awaited.until.seconds)}{kept}, then {awaited.then}"
        change = f"submit another in its place; cosched unlink {record.id} lets it start without"
        change = f"{change}; successor_patience of [coscheduling]"
        return Reason(awaits_successor=awaited or AwaitsSuccessor(), text=text, change=change)

    def successor(self, record: JobRecord) -> AwaitsSuccessor | None:
        """Return until when a job waits for another in the place of a member that has ended; None: it does not."""
        group, now = record.job.group, self._clock.now()
        ends = [lost.until for lost in group.awaited(now)] if group is not None else []
        if not ends or record.state not in WAITING or record.job.alone:
            return None
        then = _WITHOUT_MEMBER[self._domain.core.settings.on_member_lost]
        if then == _STARTS and not record.is_pair:
            then = "goes on without it"
        until = Timestamp(seconds=self._clock.to_wall(max(ends)))
        return AwaitsSuccessor(until=until, then=then, group="" if record.is_pair else record.group_name or "")

    def _not_told(self, record: JobRecord) -> Reason:
        mate, (held, _) = self._mate(record, away=True), self._hold(record)
        absent = explain_pb2.PeerAbsent(domain=mate.domain, absence=explain_pb2.ABSENCE_BUSY, held=held)
        text = in_words(Why.MATE_NOT_TOLD, of_group=not record.is_pair)
        return Reason(peer_absent=absent, text=text, change="cosched doctor tells operators more")

    def _window_ahead(self, record: JobRecord) -> Reason:
        ahead = explain_pb2.WindowAhead(group=record.group_name or "")
        change = f"nothing but time; cosched unlink {record.id} lets it start alone before"
        return Reason(window_ahead=ahead, text=WHY[Why.WINDOW_AHEAD], change=change)

    def _instant_passed(self, record: JobRecord) -> Reason:
        passed = explain_pb2.InstantPassed(group=record.group_name or "")
        change = f"cosched unlink {record.id} lets it start alone; cosched cancel {record.id} ends it"
        return Reason(instant_passed=passed, text=WHY[Why.INSTANT_PASSED], change=change)

    # Parts

    def _would_hold(self, record: JobRecord) -> int:
        """Return how many nodes: those that the plan chooses for it, if it does, or the fewest on which it runs."""
        size = self._plan.sizes.get(str(record.id))
        return least_of(record) if size is None else size.nodes

    def _mate(self, record: JobRecord, *, waits: bool = False, missing: bool = False, away: bool = False) -> Mate:
        named = record.named
        if named.is_pair:
            return Mate(named.peer, named.mate or "", named.pair or "")
        told, chosen = self._told(record), ""
        for domain in named.others:
            queues = isinstance(said := told.get(domain), MateStatus) and said.status.name == "QUEUING"
            gone = self._domain.core.peers.away_for(domain, self._clock.now()) is not None
            if (waits and queues) or (missing and record.mates[domain] is None) or (away and gone):
                chosen = domain
                break
        return Mate(chosen, record.mates.get(chosen) or "", named.name, of_group=True)

    def _told(self, record: JobRecord) -> Mapping[Domain, object]:
        known = self._domain.core.jobs.get(str(record.id))
        return known.group.told if known is not None and known.group is not None else {}

    def _hold(self, record: JobRecord) -> tuple[int, Timestamp | None]:
        """Return the nodes that it holds, and until when."""
        if record.state is not JobState.HOLDING:
            return 0, None
        until = record.job.keeps_nodes_until(self._clock.now())
        return record.node_count, None if until >= FOREVER else Timestamp(seconds=self._clock.to_wall(until))

    def _at_most(self, record: JobRecord) -> str:
        until = record.job.keeps_nodes_until(self._clock.now())
        return "" if until >= FOREVER else f" until {self._time(until)} at most"

    def _time(self, instant: int) -> str:
        return story.utc(self._clock.to_wall(instant))


_OF_WORDS: Mapping[str, Callable[[Reasons, JobRecord], Reason]] = {
    Why.MATE_QUEUING: Reasons._mate_waits,
    Why.MATE_UNSUBMITTED: Reasons._unsubmitted,
    Why.MATE_UNKNOWN: Reasons._unknown,
    Why.MEMBER_LOST: Reasons._member_lost,
    Why.SUCCESSOR: Reasons._successor,
    Why.MATE_NOT_TOLD: Reasons._not_told,
    Why.WINDOW_AHEAD: Reasons._window_ahead,
    Why.INSTANT_PASSED: Reasons._instant_passed,
    Why.PEER_DRAINING: Reasons._drains,
    Why.DRAINING: Reasons._drains,
    story.HELD_CAP: Reasons._capped,
    story.TOO_LARGE: Reasons._capped,
    story.HELD_BUDGET: Reasons._over_budget,
    story.NO_SLOT: Reasons._no_slot,
} | dict.fromkeys(ABSENT, Reasons._peer_absent)


def _on_hold(record: JobRecord, *, aside: bool) -> Reason:
    text, change = "it was submitted on hold", f"cosched release {record.id}"
    if aside:
        text, change = "an operator has put it aside, as the scheduler failed with it", f"an operator can: {change}"
    return Reason(on_hold=explain_pb2.OnHold(), text=text, change=change)
