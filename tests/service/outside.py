"""What a domain of the world does outside: its calls, which the link delays, loses and doubles, timers, its disk."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from cosched.core.effects import Answer, Start
from cosched.core.events import Asked, CallFailed
from cosched.core.protocol import FOREVER, Failure, Found, GroupOrder, MateJobId, MutatingRequest
from cosched.service.domain.changes import Cancel, Preempt
from cosched.service.store import Store
from cosched.service.wire.errors import Refusal

if TYPE_CHECKING:
    from tests.service.world import Node

TIMEOUT = 5  # seconds


class Killed(BaseException):
    """The domain was killed just now."""


class MortalStore(Store):
    """A store whose domain may be killed before it writes."""

    node: Node

    @contextmanager
    def transaction(self):
        self.node.may_die()
        with super().transaction():
            yield


class Disk:
    """What of a database would outlive a power failure, in one life of its domain."""

    def __init__(self, node: Node, life: int) -> None:
        self._node, self._world, self._life = node, node.world, life
        self.content = node.store._connection.serialize()  # it was opened just now
        self._durable = node.store.commits
        self._waiting: list[tuple[int, Callable[[], Any]]] = []
        self._busy = False

    def when_durable(self, commit: int, act: Callable[[], Any]) -> None:
        if commit <= self._durable or not self._world.faults.power:
            act()
            return
        self._waiting.append((commit, act))
        self._begin()

    def _begin(self) -> None:
        if not self._busy and self._waiting:
            self._busy = True
            store, takes = self._node.store, self._world.random.randint(0, self._world.faults.sync)
            commit, content = store.commits, store._connection.serialize()
            self._world.at(self._world.now + takes, lambda: self._end(commit, content))

    def _end(self, commit: int, content: bytes) -> None:
        if self._node.lives != self._life:
            return
        self.content, self._durable, self._busy = content, commit, False
        ready = [act for needed, act in self._waiting if needed <= commit]
        self._waiting = [waiting for waiting in self._waiting if waiting[0] > commit]
        self._begin()
        for act in ready:
            if self._node.lives == self._life:
                self._node.guarded(act)


class Outside:
    """What a domain does outside in this world; of an earlier life: nothing."""

    def __init__(self, node: Node, life: int) -> None:
        self.node, self.world, self.life = node, node.world, life
        self.wakes_at: float = FOREVER
        self.look_at = 0  # when the domain looks again

    def later(self, at: int, act: Callable[[], Any]) -> None:
        """In this life of the domain."""

        def if_alive() -> None:
            if self.node.lives == self.life:
                self.node.guarded(act)

        self.world.at(at, if_alive)

    # Calls

    def call(self, call) -> None:
        self.node.may_die()
        world, mutating = self.world, isinstance(call.request, MutatingRequest | GroupOrder)
        if world.nodes[call.peer].domain is None:
            self._fail(call, Failure.UNREACHABLE, 0)
        elif world.chance(world.faults.busy):
            self._fail(call, Failure.BUSY, 0)
        elif world.chance(world.faults.lose):
            self._fail(call, Failure.TIMEOUT if mutating else Failure.UNREACHABLE, TIMEOUT)
        else:
            world.at(world.now + world.delay(), lambda: self._arrive(call, mutating))
            if mutating and world.chance(world.faults.duplicate):
                world.at(world.now + world.random.randint(0, 60), lambda: self._ask(call))

    def _arrive(self, call, mutating: bool) -> None:
        reply = self._ask(call)
        if reply is None:
            self._replied(call, mutating, None)
            return
        if isinstance(reply, MateJobId) and reply.found is Found.BUSY:
            self._fail(call, Failure.BUSY, 0)
            return
        self._once_on_disk(call, mutating, reply)

    def _once_on_disk(self, call, mutating: bool, reply: Any) -> None:
        """What the peer answers is on its way when a power failure there could not take it back, or not at all."""
        peer, deliver = self.world.nodes[call.peer], self._answered_once(call, mutating)
        if peer.domain is not None:
            peer.disk.when_durable(peer.store.commits, lambda: deliver(reply))
        self.world.at(self.world.now + TIMEOUT, lambda: deliver(None))

    def _answered_once(self, call, mutating: bool) -> Callable[[Any], None]:
        answered: list[Any] = []

        def deliver(given: Any) -> None:
            if not answered:
                answered.append(given)
                self._replied(call, mutating, given)

        return deliver

    def _replied(self, call, mutating: bool, reply: Any) -> None:
        if reply is None or self.world.chance(self.world.faults.lose):
            self._fail(call, Failure.TIMEOUT if mutating else Failure.UNREACHABLE, TIMEOUT)
        else:
            self.later(self.world.now + self.world.delay(), lambda: self.node.domain.calls.answered(call, reply))

    def _ask(self, call) -> Any:
        peer = self.world.nodes[call.peer]
        try:
            return peer.guarded(lambda: peer.domain.questions.ask(Asked(self.node.name, call.request)))
        except Refusal:
            return None

    def _fail(self, call, failure: Failure, after: int) -> None:
        failed = CallFailed(call.job, call.request, failure, call.peer)
        self.later(self.world.now + after, lambda: self.node.domain.calls.failed(call, failed, "lost"))

    # The rest

    def answer(self, answer: Answer) -> None:
        """A domain that schedules by itself gives its answers at once."""

    def when_durable(self, commit: int, act: Callable[[], Any], *, hurry: bool = True) -> None:  # noqa: ARG002
        self.node.disk.when_durable(commit, act)

    def order(self, order: Start | Preempt | Cancel) -> None:
        self.node.may_die()
        if order.job in self.node.domain.jobs:
            {Preempt: self.node.preempt, Cancel: self.node.cancel}.get(type(order), self.node.launch)(order.job)

    def wake_at(self, moment: float) -> None:
        if moment != self.wakes_at:
            self.wakes_at = moment
            self.later(int(moment), lambda: self.wakes_at == moment and self._wake())

    def _wake(self) -> None:
        self.wakes_at = FOREVER
        self.node.domain.due()

    def awaits(self, job: str) -> None:
        self.later(self.world.now + 1, lambda: self.node.domain.go_on(job))

    def look_again(self, at: int, in_vain: int) -> None:
        at += self.world.random.randint(0, 2 ** min(in_vain, 6))  # or two domains could cross each other for ever
        if not self.world.now < self.look_at <= at:
            self.look_at = at
            self.later(at, lambda: self.look_at == at and self.node.domain.look())

    def happened(self, events) -> None:
        for event in events:
            if event.what == "started":
                self.node.why[str(event.job)] = event.detail["why"]
            elif event.what == "is queued again":
                self.node.preempted.add(str(event.job))

    def stalled(self, problem: str) -> None:
        raise AssertionError(problem)

    def broken(self, error: BaseException) -> None:
        if not isinstance(error, Killed):
            raise AssertionError("broken") from error
