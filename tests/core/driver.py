"""Drives one `Coscheduler` by hand, event by event, in the role of its shell and of its peer B."""

from decimal import Decimal

from cosched.core import protocol
from cosched.core.allocation import Allocation
from cosched.core.coscheduling.coscheduler import Coscheduler
from cosched.core.coscheduling.ledger import PairedJob
from cosched.core.coscheduling.owners import SAME_NAMES, Owners
from cosched.core.effects import Answer, Call, Effect, Hold, Record, SetTimer, Start, Timer, Yield
from cosched.core.events import Answered, Asked, CallFailed, Event, Finished, Ready, Submitted
from cosched.core.job import JobState
from cosched.core.protocol import Found, GetMateStatus, MateJobId, MateStatus, Reply, Request, Status, TryStartMate
from cosched.core.settings import CoschedulingSettings

YES, NO = True, False
MATE_IS_K = MateJobId(Found.MATE, "k")
ANSWER_TO = {
    protocol.GetMateJobId: MateJobId,
    GetMateStatus: MateStatus,
    TryStartMate: protocol.MateTried,
    protocol.StartJob: protocol.MateStarted,
}


def parts(core: Coscheduler) -> list[object]:
    """All that a core knows, in parts that can be compared."""
    return [core.names, core.peers, core.incoming]


def of(effects: list[Effect], kind: type) -> list[Effect]:
    return [effect for effect in effects if type(effect) is kind]


def decided(effects: list[Effect]) -> list[type]:
    """Which of Start, Hold and Yield the effects have."""
    return [type(effect) for effect in effects if type(effect) in (Start, Hold, Yield)]


def called(effects: list[Effect]) -> Request:
    """The one request that the effects send."""
    (call,) = of(effects, Call)
    return call.request


def answered(effects: list[Effect]) -> Reply:
    """The one answer that the effects send; it is of the kind that the request wants."""
    (answer,) = of(effects, Answer)
    assert type(answer.answer) is ANSWER_TO[type(answer.request)]
    return answer.answer


def told(effects: list[Effect]) -> list[str]:
    """What the job's story has gained: each record's `what`, with its reason if it has one."""
    stored = [(effect.what, effect.stored()) for effect in effects if type(effect) is Record]
    return [f"{what}: {detail['why']}" if "why" in detail else str(what) for what, detail in stored]


def detail(effects: list[Effect], what: str) -> dict[str, object]:
    """The detail of the one record of that name."""
    (record,) = [effect for effect in effects if type(effect) is Record and effect.what == what]
    return record.stored()


def timer(effects: list[Effect], kind: Timer) -> int:
    """When the one timer of this kind is set to."""
    (at,) = [effect.at for effect in effects if type(effect) is SetTimer and effect.timer is kind]
    return at


class DomainA:
    """Domain A of 10 nodes, whose job j has the mate k on B; jitter 0 and a cap of 1 unless told otherwise."""

    def __init__(self, nodes: int = 10, owners: Owners = SAME_NAMES, **settings: object) -> None:
        self.now = 0
        self.core = Coscheduler("A", nodes, self._settings(settings), owners=owners)

    @staticmethod
    def _settings(changed: dict[str, object]) -> CoschedulingSettings:
        quiet = {"release_jitter": Decimal(0), "max_held_fraction": Decimal(1)}
        return CoschedulingSettings(**{**quiet, **changed})

    def configure(self, **settings: object) -> None:
        self.core.ledger.configure(self._settings(settings))

    def job(self, job: str = "j") -> PairedJob:
        return self.core.jobs[job]

    def state(self, job: str = "j") -> JobState:
        return self.job(job).state

    # Events

    def feed(self, event: Event) -> list[Effect]:
        return self.core.handle(event, self.now)

    def submit(self, job: str = "j", pair: str | None = None, owner: str = "", **names: object) -> list[Effect]:
        """Submit a job with a pair name (its own id, if it names no mate in another way)."""
        if pair is None and "mate" not in names:
            pair = job
        return self.feed(Submitted(job, protocol.named_mate("B", pair, **names), owner))

    def ready(self, job: str = "j", nodes: int = 4, hold_limit: int = protocol.FOREVER) -> list[Effect]:
        """RunJob(job, nodes); a job that is not there yet is submitted."""
        if job not in self.core.jobs:
            self.submit(job)
        return self.feed(Ready(job, Allocation(nodes), hold_limit))

    def feed_ready_that_cannot_yield(self, job: str = "j", nodes: int = 4) -> list[Effect]:
        """RunJob of a job that would be lost with its nodes."""
        return self.feed(Ready(job, Allocation(nodes), protocol.FOREVER, cannot_yield=True))

    def awaited(self, job: str = "j") -> Request | None:
        """The call whose answer the job awaits: a question about its mate, or one that may start it."""
        known = self.job(job)
        return known.call or next(iter(known.group.asked.values()), None)

    def reply(self, answer: Reply, job: str = "j") -> list[Effect]:
        """B answers the question that the job asks at present."""
        return self.feed(Answered(job, self.awaited(job), answer))

    def acknowledge(self, job: str = "j") -> list[Effect]:
        """B has heard that the job has changed."""
        return self.feed(Answered(job, self.job(job).news["B"].request, protocol.MemberTold(True)))

    def fail(self, failure: protocol.Failure, job: str = "j") -> list[Effect]:
        """No answer comes to the question that the job asks at present."""
        return self.feed(CallFailed(job, self.awaited(job), failure))

    def finish(self, how: JobState = JobState.COMPLETED, job: str = "j") -> list[Effect]:
        return self.feed(Finished(job, how))

    def ask(self, request: Request, peer: str = "B") -> list[Effect]:
        """A peer asks A something."""
        return self.feed(Asked(peer, request))

    # RunJob up to some point

    def run_job(self, status: Status, generation: int = 0, started_at: int | None = None, **ready: object):
        """RunJob(j) up to what B's answer to GetMateStatus(k) leads to."""
        job = ready.get("job", "j")
        self.ready(**ready)
        self.reply(MateJobId(Found.MATE, "k" if job == "j" else f"k-{job}"), job)
        return self.reply(MateStatus(status, generation, started_at), job)

    def asks(self, kind: type) -> "DomainA":
        """RunJob(j) up to a call of this kind."""
        if kind in (protocol.GetMateJobId, GetMateStatus):
            self.ready()
            if kind is GetMateStatus:
                self.reply(MATE_IS_K)
        else:
            self.run_job(Status.QUEUING if kind is TryStartMate else Status.HOLDING, generation=1)
        assert type(self.awaited()) is kind
        return self

    def reply_that_its_mate_queues(self) -> list[Effect]:
        """B answers the first two questions of job j."""
        self.reply(MATE_IS_K)
        return self.reply(MateStatus(Status.QUEUING, 0, None))

    def hold_or_yield(self, **ready: object) -> list[Effect]:
        """RunJob(j) while its mate is queuing and cannot start."""
        self.run_job(Status.QUEUING, **ready)
        return self.reply(protocol.MateTried(NO), ready.get("job", "j"))

    # Questions of B about j

    def asked_id(self, caller: str = "k", pair: str | None = "j", **names: object) -> Reply:
        request = protocol.GetMateJobId(caller, pair, names.get("mate"), names.get("owner", ""))
        return answered(self.ask(request, names.get("peer", "B")))

    def claimed_by(self, caller: str, lives: Status = Status.QUEUING, job: str = "j", **names: object) -> Reply:
        """Another job of B wants the place of k: the answer, once B has said how k stands."""
        assert self.asked_id(caller, **names) == MateJobId(Found.BUSY, None)
        [check] = self.job(job).group.checks.values()
        self.feed(Answered(job, check, MateStatus(lives, 0, None)))
        return self.asked_id(caller, **names)

    def asked_status(self, job: str = "j", caller: str = "k", peer: str = "B") -> MateStatus:
        return answered(self.ask(GetMateStatus(job, caller), peer))

    def asked_try(self, number: int = 1, hold_until: int = 0, job: str = "j", caller: str = "k"):
        return self.ask(TryStartMate(f"B/{caller}/{number}", job, caller, hold_until))

    def asked_start(self, generation: int, number: int = 1, job: str = "j", caller: str = "k"):
        return self.ask(protocol.StartJob(f"B/{caller}/{number}", job, caller, generation))
