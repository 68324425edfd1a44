"""A policy domain whose two peers say anything of the right types, in any state of its jobs.

They know the jobs and their mates, and speak of groups, pairs and slots, by the names of proposals and the generations
that are in force as often as by others. What the domain asks is answered late, if at all.
"""

from __future__ import annotations

import random
from decimal import Decimal

from cosched.core import events, protocol
from cosched.core.batch_reports import BatchReports, SlotReports
from cosched.core.coscheduling.coscheduler import Coscheduler
from cosched.core.coscheduling.ledger import IllegalEvent, PairedJob
from cosched.core.domain import Change, PolicyDomain
from cosched.core.effects import Book, Call, CancelJob, Claim, Quote, Start, Try, TryReady
from cosched.core.events import Asked, Drained, Event, Linked, PeerThere, Requeued, Resumed, Submitted, Unlinked
from cosched.core.job import JobState
from cosched.core.protocol import Found, GetMateStatus, Request, StartJob, Status, Vote, Window, named_group, named_mate
from cosched.core.scheduling.external import ExternalScheduler
from cosched.core.scheduling.external_meeting import ExternalSettings
from cosched.core.scheduling.policies.backfilling import BACKFILLING
from cosched.core.scheduling.policies.ordering import parse_ordering
from cosched.core.scheduling.scheduler import ClusterJob, ClusterSettings, OpenScheduler
from cosched.core.settings import CoschedulingSettings, OnUnreachable, Scheme
from cosched.core.timers import TIMER_EVENTS
from cosched.schedulers.batch import BATCH
from tests.conformance.schedulers.kinds import example
from tests.core.any_order import AnyOrder

NODES, STEPS = 10, 250
PEERS = ("B", "C")
WAITING = (JobState.QUEUED, JobState.READY, JobState.HOLDING)
NAMES = {  # jobs of domain A, by id: two of groups, a group with a window, two of pairs, and one alone
    "1": named_group("g", PEERS),
    "2": named_group("h", PEERS, windows=(Window("B", 5, 9),)),
    "3": named_mate("B", "p"),
    "4": named_mate("C", None, "c4"),
    "5": named_group("i", ("B",), windows=(Window("B", 0, 9),)),
    "6": named_mate(""),
}


class Besieged:
    """Domain A, and what its peers may say to it next."""

    def __init__(self, seed: int) -> None:
        self.random = draw = random.Random(seed)
        slots = draw.random() < 0.7 and self.gives_slots
        scheme = draw.choice([Scheme.HOLD, Scheme.YIELD])
        settings = CoschedulingSettings(
            scheme=scheme, slots=slots, max_held_fraction=Decimal(1), peer_patience=draw.choice([0, 3, 20]),
            on_peer_unreachable=draw.choice(list(OnUnreachable)), peer_grace=draw.choice([0, 10]),
        )  # fmt: skip
        self.core = Coscheduler("A", NODES, settings)
        self.cluster = self.scheduler(slots)
        self.now = 100
        self.calls: list[Call] = []  # those that were not answered yet
        self.timers: dict[tuple[str, str], int] = {}
        self.domain = PolicyDomain(self.core, self.cluster, timers=AnyOrder(self.timers))
        self.instants = [0, 100]
        self.numbers = 0
        for id, named in NAMES.items():
            self.tell(Submitted(id, named))
            nodes, length = draw.randint(3, 7), draw.randint(5, 30)
            self.cluster.submit(ClusterJob(id, nodes, length, self.now, self.domain.is_paired(id)))

    gives_slots = True

    def scheduler(self, slots: bool) -> OpenScheduler:
        return BATCH.open(ClusterSettings(NODES, parse_ordering("fcfs"), BACKFILLING["easy"], slots=slots))

    def tell(self, event: Event) -> None:
        self.cluster.enter(self.now)
        self.follow(self.domain.handle(event, self.now))
        self.go_on()

    def go_on(self) -> None:
        self.follow(self.domain.schedule(self.now))

    def follow(self, changes: list[Change]) -> None:
        for change in changes:
            if type(change) is Call:
                self.calls.append(change)
            elif type(change) is Start:
                assert (change.job, "end") not in self.timers, f"job {change.job} starts twice"
                self.timers[change.job, "end"] = self.now + self.random.randint(1, 9)
            elif type(change) is Requeued:
                self.timers.pop((change.job, "end"))
            elif type(change) is CancelJob:
                self.end(change.job)

    def end(self, id: str) -> None:
        how = JobState.COMPLETED if self.core.jobs[id].state is JobState.RUNNING else JobState.CANCELLED
        if not self.core.jobs[id].state.final:
            self.cluster.enter(self.now)
            self.cluster.leave(id, self.now, how)
            self.tell(events.Finished(id, how))
            self.submit_again(id)

    # What happens

    def step(self) -> None:
        draw = self.random
        what = draw.random()
        if what < 0.45:
            self.tell(self.request())
        elif what < 0.75 and self.calls:
            self.tell(self.outcome(self.calls.pop(draw.randrange(len(self.calls)))))
        elif what < 0.85:
            self.pass_time()
        elif what < 0.87:
            self.peer_comes_or_goes()
        elif what < 0.97:
            self.cluster.enter(self.now)
            self.schedule()
            self.go_on()
        else:
            self.owner_acts()
        self.check()

    def schedule(self) -> None:
        self.cluster.reschedule()

    def pass_time(self) -> None:
        self.now += self.random.randrange(4)
        self.instants = [0, self.now, self.now + 3, self.now + 20, protocol.FOREVER]
        for (job, timer), at in sorted(self.timers.items()):
            if at > self.now or self.timers.pop((job, timer), None) is None:
                continue
            if timer == "end":
                self.end(job)
            else:
                self.tell(TIMER_EVENTS[timer](job))

    def peer_comes_or_goes(self) -> None:
        """Or this domain drains, or is resumed."""
        at, peer, then = self.random.choice, self.random.choice(PEERS), self.random.choice([0, self.now + 10])
        peers = [PeerThere(peer), events.PeerAway(peer), events.PeerLeaves(peer, then), events.PeerDrains(peer, then)]
        self.tell(at([*peers, events.GraceOver(peer), PeerThere(peer), Drained(self.now + 10), Resumed(), Resumed()]))

    def owner_acts(self) -> None:
        id = self.random.choice(list(NAMES))
        job, what = self.core.jobs[id], self.random.random()
        if what < 0.3 and job.state is JobState.RUNNING:
            self.timers.pop((id, "end"), None)
            self.end(id)
        elif what < 0.5 and job.state in WAITING and job.peers:
            self.tell(Unlinked(id))
        elif what < 0.8 and job.state in WAITING:
            self.link(id)
        elif what < 0.83 and job.state in WAITING:
            self.end(id)

    def link(self, id: str) -> None:
        named = self.random.choice(list(NAMES.values())[:5])
        try:
            self.tell(Linked(id, named))
        except (IllegalEvent, ValueError):
            return  # the service refuses that

    def submit_again(self, id: str) -> None:
        self.core.forget(self.core.jobs[id])
        try:
            self.tell(Submitted(id, NAMES[id]))
        except ValueError:
            self.tell(Submitted(id))
        self.cluster.enter(self.now)
        self.cluster.submit(ClusterJob(id, self.random.randint(1, 7), 20, self.now, self.domain.is_paired(id)))
        self.go_on()

    # What peers may say

    def request(self) -> Asked:
        """About a job that waits, more often than not by its mate, and by names that are in force."""
        draw = self.random
        waiting = [id for id, job in self.core.jobs.items() if job.state in WAITING and job.peers]
        id = draw.choice(waiting if waiting and draw.random() < 0.9 else list(NAMES))
        job = self.core.jobs[id]
        peer = draw.choice(job.peers if job.peers and draw.random() < 0.95 else PEERS)
        caller = self.mate(job, peer) if draw.random() < 0.95 else f"{peer.lower()}x"
        own = f"{peer}/{caller}/{self.number()}"
        about = self.about_pair(job, own, caller) if job.group is None or job.is_pair else []
        if job.group is not None and (not job.is_pair or draw.random() < 0.5):
            about += self.about_group(job, own, caller)
        return Asked(peer, draw.choice(about))

    def number(self) -> int:
        """That of a call of the peer's: the next one, or an earlier one."""
        self.numbers += 1
        return self.numbers if self.random.random() < 0.7 else self.random.randrange(self.numbers)

    def about_pair(self, job: PairedJob, own: str, caller: str) -> list[Request]:
        draw, at = self.random, self.random.choice
        runs = at([None, job.runs, 0])
        return [
            protocol.GetMateJobId(caller, job.pair, None, ""),
            GetMateStatus(job.id, caller),
            protocol.TryStartMate(own, job.id, caller, at(self.instants), runs=runs),
            StartJob(own, job.id, caller, job.generation + draw.choice([0, 1]), runs=runs),
        ]

    def about_group(self, job: PairedJob, own: str, caller: str) -> list[Request]:
        draw, at, group = self.random, self.random.choice, job.group
        name, slot = draw.choice([*self.names(job), own]), draw.choice([group.slot, group.slot, ""])
        hold_until, first = at(self.instants), at(self.instants)
        only_before, instant = draw.choice([0, 0, at(self.instants)]), first if group.by_slots_only else None
        settle = protocol.SettleGroupStart(name, job.id, caller, start=False, hold_until=hold_until)
        return [
            protocol.GetMember(caller, group.name, group.domains, "", group.named_windows),
            GetMateStatus(job.id, caller),
            protocol.ProposeGroupStart(own, job.id, caller, hold_until, 5, slot=slot),
            protocol.ProposeGroupStart(
                own, job.id, caller, 0, 5, not_before=first, only_before=only_before, book=draw.random() < 0.7,
                slot=slot, instant=instant,
            ),
            draw.choice([settle, settle._replace(start=True)]),
            settle._replace(keep=True),
            protocol.GetProposal(name, job.id, caller),
        ]  # fmt: skip

    @staticmethod
    def mate(job: PairedJob, peer: str) -> str:
        known = None if job.group is None else job.group.jobs.get(peer)
        return known or f"{peer.lower()}{job.id}"

    @staticmethod
    def names(job: PairedJob) -> list[str]:
        """The names of what is in force, and of our own proposals."""
        group = job.group
        names = [f"A/{job.id}/{job.calls}"]
        if group is not None:
            names += [name for name in (group.slot, group.started_by) if name]
            names += [group.promise.proposal] if group.promise is not None else []
        return names

    def outcome(self, call: Call) -> Event:
        draw, request = self.random, call.request
        if draw.random() < 0.15:
            return events.CallFailed(call.job, request, draw.choice(list(protocol.Failure)), call.peer)
        return events.Answered(call.job, request, self.reply(call, request), call.peer)

    def reply(self, call: Call, request: Request) -> protocol.Reply:
        draw, at = self.random, self.random.choice
        yes = draw.random() < 0.5
        mate = f"{call.peer.lower()}{call.job}"
        if isinstance(request, protocol.GetMateJobId | protocol.GetMember):
            found = draw.choice([Found.MATE] * 8 + [Found.UNSUBMITTED, Found.NO_PAIR])
            return protocol.MateJobId(found, mate if found is Found.MATE else None)
        if isinstance(request, GetMateStatus):
            status = draw.choice([Status.HOLDING, *[Status.QUEUING] * 6, *Status])
            return protocol.MateStatus(
                status, draw.randrange(3), draw.choice([None, self.now]), may_book=draw.random() < 0.8
            )
        if isinstance(request, protocol.TryStartMate):
            return protocol.MateTried(draw.random() < 0.2, may_book=yes)
        if isinstance(request, StartJob):
            return protocol.MateStarted(yes)
        if isinstance(request, protocol.SettleGroupStart):
            return protocol.Settled(draw.random() < 0.8)
        if isinstance(request, protocol.TellMember):
            return protocol.MemberTold(yes)
        if isinstance(request, protocol.GetProposal):
            return protocol.ProposalOutcome(draw.choice(list(protocol.Outcome)))
        earliest = request.not_before if request.not_before is not None and draw.random() < 0.8 else None
        vote = Vote.BOOKED if draw.random() < 0.7 else draw.choice(list(Vote))
        return protocol.GroupProposed(
            vote, earliest=draw.choice([earliest, earliest, at(self.instants)]) if earliest else None
        )

    # What holds

    def check(self) -> None:
        for id, job in self.core.jobs.items():
            if id in self.cluster:
                known = self.cluster.job(id)
                assert known.state is job.state, f"job {id}: {job.state.name}, to the scheduler {known.state.name}"
                slot = known.kept.get("slot")
                assert slot == job.slot, f"job {id} has the slots {job.slot} and {slot}"
        assert self.cluster.free >= 0
        held = sum(job.nodes for job in self.core.jobs.values() if job.state is JobState.HOLDING)
        assert self.core.ledger.held_nodes == held <= NODES


class BesiegedExpress(Besieged):
    """A domain of the example, whose running jobs lose their nodes to short ones."""

    gives_slots = False

    def scheduler(self, slots: bool) -> OpenScheduler:  # noqa: ARG002
        return example.EXPRESS.open(example.ExpressSettings(NODES, 12))


class BesiegedBatchSystem(Besieged):
    """A domain whose batch system schedules: it offers jobs, and tells later what comes of its orders."""

    cluster: ExternalScheduler

    def scheduler(self, slots: bool) -> OpenScheduler:
        return ExternalScheduler(ExternalSettings(NODES, slots=slots))

    def __init__(self, seed: int) -> None:
        self.orders: list[Quote | Book | Claim | Try | TryReady] = []
        super().__init__(seed)
        self.reports = BatchReports(self.domain, self.cluster)
        self.slot_reports = SlotReports(self.domain, self.cluster)

    def go_on(self) -> None:
        super().go_on()
        self.orders += [order for order in self.cluster.take_orders() if isinstance(order, OUTCOMES)]

    def schedule(self) -> None:
        """An order has come of something; or a job is offered."""
        draw = self.random
        if self.orders and draw.random() < 0.7:
            order, yes = self.orders.pop(draw.randrange(len(self.orders))), draw.random() < 0.7
            (self.tried if isinstance(order, Try | TryReady) else self.answered)(order, yes)
            return
        queued = [id for id, job in self.core.jobs.items() if job.state is JobState.QUEUED]
        if queued:
            id, can_yield = draw.choice(queued), draw.random() < 0.9
            self.follow(self.reports.offered(id, 4, self.now, can_yield=can_yield, number=0))

    def answered(self, order: Quote | Book | Claim, yes: bool) -> None:
        if isinstance(order, Quote):
            at = order.not_before + self.random.choice([0, 0, 5]) if yes else None
            self.follow(self.slot_reports.quoted(order, at, self.now))
        elif isinstance(order, Book):
            self.follow(self.slot_reports.booked(order, yes, self.now))
        else:
            self.follow(self.slot_reports.claimed(order, int(yes), self.now))

    def tried(self, order: Try | TryReady, yes: bool) -> None:
        if self.cluster.trying.get(order.job) is order:
            self.follow(self.reports.tried(order.job, int(yes), None, self.now))


OUTCOMES = (Quote, Book, Claim, Try, TryReady)
