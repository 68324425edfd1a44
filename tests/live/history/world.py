"""The domains of a history, the networks between them, and what goes wrong there."""

import os
import signal
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from tests.live.history.plan import ClockSet, Cut, Down, Frozen, Step, Trouble
from tests.live.services import Service, start_all, wait_until
from tests.live.wall_clock import Clock
from tests.service.faulty_proxy import PASS, FaultyProxy

SLOTS = 6
FOREVER = float("inf")


@dataclass(slots=True)
class Seen:
    """A trouble, and when it was in force; instants in seconds since 1970, by the host's clock."""

    trouble: Trouble
    where: frozenset[str]  # the domain, or both ends of the link
    begin: float
    end: float = FOREVER

    def concerns(self, pair: Iterable[str], begin: float, end: float) -> bool:
        """Whether it was in force on a pair of these two domains at some moment between these instants."""
        return self.where <= set(pair) and self.begin <= end and begin <= self.end


@dataclass(slots=True)
class Place:
    """A domain: its service, its wall clock, and its way to each of the others."""

    service: Service
    clock: Clock
    ways: dict[str, FaultyProxy] = field(default_factory=dict)


class World:
    """Domains a, b, ... by the schemes given, each the peer of all others."""

    def __init__(self, folder: Path, schemes: Sequence[str], **coscheduling: Any) -> None:
        self.folder = folder
        self.seen: list[Seen] = []
        self.clocks: list[tuple[float, str, int]] = []  # when which clock was set, to how many seconds ahead
        self.places: dict[str, Place] = {}
        for name, scheme in zip("abcdefgh", schemes, strict=False):
            service = Service(self.folder / name, name)
            service.config["coscheduling"] |= {**coscheduling, "scheme": scheme}
            service.config["manager"]["slots"] = SLOTS
            self.places[name] = Place(service, Clock(service))

    def __enter__(self) -> Self:
        self._stack = ExitStack()
        try:
            for name, place in self.places.items():
                self._stack.enter_context(place.service)
                for peer in self.places.keys() - {name}:
                    way = self._stack.enter_context(FaultyProxy(self.places[peer].service.address))
                    place.ways[peer] = way
                    place.service.add_peer(peer, way.address)
            start_all(self.services)
            for service in self.services:
                wait_until(lambda service=service: _sees_all(service), f"{service.name} sees its peers")
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def services(self) -> list[Service]:
        return [place.service for place in self.places.values()]

    def shifts(self, domain: str) -> list[int]:
        """All seconds by which the domain's wall clock ever was ahead."""
        return [0, *(ahead for _, name, ahead in self.clocks if name == domain)]

    def go_through(self, step: Step) -> None:
        """Have the step's troubles, all at once, to their end."""
        time.sleep(step.pause)
        with ThreadPoolExecutor(len(step.troubles)) as pool:
            for done in [pool.submit(self._have, trouble) for trouble in step.troubles]:
                done.result()

    def _have(self, trouble: Trouble) -> None:
        if isinstance(trouble, ClockSet):
            self.places[trouble.domain].clock.set(trouble.ahead)
            self.clocks.append((time.time(), trouble.domain, trouble.ahead))
            return
        where = {trouble.caller, trouble.peer} if isinstance(trouble, Cut) else {trouble.domain}
        seen = Seen(trouble, frozenset(where), time.time())
        self.seen.append(seen)
        if isinstance(trouble, Cut):
            self._cut(trouble)
        else:
            act = _down if isinstance(trouble, Down) else _freeze
            act(self.places[trouble.domain].service, trouble)
        seen.end = time.time()

    def _cut(self, trouble: Cut) -> None:
        ways = [self.places[trouble.caller].ways[trouble.peer]]
        if trouble.both:
            ways.append(self.places[trouble.peer].ways[trouble.caller])
        for way in ways:
            way.set(trouble.fault)
        time.sleep(trouble.seconds)
        for way in ways:
            way.set(PASS)


def _sees_all(service: Service) -> bool:
    with service.client() as client:
        return all(peer.state == "reachable" for peer in client.domain().peers)


def _down(service: Service, trouble: Down) -> None:
    code = service.kill() if trouble.killed else service.stop()
    assert code == (-signal.SIGKILL if trouble.killed else 0), f"{service.name} ended with {code}:\n{service.log}"
    time.sleep(trouble.seconds)
    service.start()


def _freeze(service: Service, trouble: Frozen) -> None:
    os.kill(service.process.pid, signal.SIGSTOP)
    time.sleep(trouble.seconds)
    os.kill(service.process.pid, signal.SIGCONT)
