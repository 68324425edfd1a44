"""A domain whose resource manager schedules: what is reported to it, and its orders and calls, which are only noted."""

from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from cosched.core.effects import Call, Start
from cosched.core.events import Asked
from cosched.core.job import JobState
from cosched.core.protocol import GetMateJobId, MateStatus, MateTried, Status, TellMember, TryStartMate, named_mate
from cosched.core.scheduling.external import ExternalScheduler
from cosched.core.scheduling.external_meeting import ExternalSettings
from cosched.core.settings import CoschedulingSettings
from cosched.schedulers.external import EXTERNAL
from cosched.service.domain.changes import Order
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.domain.offered_jobs import OfferedJobs
from cosched.service.domain.recovery import recover
from cosched.service.store import Store
from tests.service.job_records import queued
from tests.service.replies import QUEUING, mate_is
from tests.service.world import METRICS, WorldClock

NOW = 1_000


class Clock(WorldClock):
    def __init__(self) -> None:
        self.instant = NOW

    def now(self) -> int:
        return self.instant

    exact = now


class Outside:
    """Notes what the domain wants; nothing else happens."""

    def __init__(self) -> None:
        self.orders: list[Order] = []
        self.calls: list[Call] = []

    def order(self, order: Order) -> None:
        self.orders.append(order)

    def call(self, call: Call) -> None:
        self.calls.append(call)

    def broken(self, error: BaseException) -> None:
        raise error

    def when_durable(self, _: int, act: Callable[[], None], *, hurry: bool = True) -> None:  # noqa: ARG002
        act()

    def __getattr__(self, name: str) -> Any:
        return lambda *_: None


class Site:
    """Domain a, with peer b; both jobs of a pair have the same id."""

    def __init__(self, store: Store, meets: ExternalSettings | None = None, **settings: Any) -> None:
        self.store, self.clock, self.outside = store, Clock(), Outside()
        chosen = CoschedulingSettings(**{"release_jitter": Decimal(0), "max_held_fraction": Decimal(1), **settings})
        scheduler = ExternalScheduler(meets or ExternalSettings(10))
        self.domain = LiveDomain("a", chosen, scheduler, store, self.clock, METRICS, kind=EXTERNAL)
        self.scheduler = scheduler
        self.offered = OfferedJobs(self.domain, scheduler, lambda *asked: self.outside.agreed_start(*asked))
        recover(self.domain, self.outside)

    def submit(self, *jobs: int, pair: str | None = None, or_alone: bool = False) -> None:
        for job in jobs:
            named = pair or str(job)
            mate = named_mate("b", named, None, or_alone)
            self.offered.submitted(queued(job, 2, 0, NOW, owner="ann", named=mate))
            self.ask(GetMateJobId(str(job), named, None, "ann"))

    def ask(self, request: Any, peer: str = "b") -> Any:
        """A peer's call."""
        return self.domain.questions.ask(Asked(peer, request))

    def offer(self, job: int, *, can_yield: bool = True, number: int = 0) -> None:
        self.offered.offered(str(job), 2, can_yield=can_yield, number=number)

    def answer(self, job: int, *replies: Any) -> None:
        for reply in replies:
            calls = [call for call in self.outside.calls if not isinstance(call.request, TellMember)]
            call = next(call for call in reversed(calls) if call.job == str(job))
            self.domain.calls.answered(call, reply)

    def ready(self, job: int, status: Status = Status.QUEUING) -> None:
        """Offered, and the first two questions are answered."""
        self.offer(job)
        self.answer(job, mate_is(str(job)), MateStatus(status, 1, None))

    def hold(self, job: int) -> None:
        self.ready(job)
        self.answer(job, MateTried(False))

    @staticmethod
    def no_luck(job: int) -> tuple[object, ...]:
        """Answers to the three questions of a job whose mate cannot start."""
        return mate_is(str(job)), QUEUING, MateTried(False)

    def asked_to_try(self, job: int, hold_until: int = 0) -> object:
        return self.ask(TryStartMate(f"b/{job}/1", str(job), str(job), hold_until))

    def state(self, job: int) -> JobState | None:
        return self.domain.state(str(job))

    @property
    def orders(self) -> list[Order]:
        """Those since the last look."""
        taken, self.outside.orders = self.outside.orders, []
        return [Start(order.job, order.at) if type(order) is Start else order for order in taken]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with_file = Store.open(tmp_path / "a.db", "a")
    yield with_file
    with_file.close()


@pytest.fixture
def site(store: Store) -> Site:
    return Site(store)
