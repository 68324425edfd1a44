"""Plans of faults: what goes wrong where, and for how long. One seed gives one plan."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from tests.service.faulty_proxy import BLACK_HOLE, REFUSE, SWALLOW_REPLIES, Fault, cut_after

LONGEST = 8.0  # seconds of a fault
CLOCKS = (-3600, -60, -5, 0, 5, 60, 3600)  # seconds by which a wall clock is ahead
NETWORKS = (REFUSE, BLACK_HOLE, SWALLOW_REPLIES, cut_after(100))


@dataclass(frozen=True, slots=True)
class Down:
    """A service is killed, or told to stop; it is started again after so many seconds."""

    domain: str
    killed: bool
    seconds: float


@dataclass(frozen=True, slots=True)
class Frozen:
    """A service is stopped by SIGSTOP, and goes on after so many seconds."""

    domain: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Cut:
    """The network between two domains has a fault, for calls of the first and, if `both`, of the other."""

    caller: str
    peer: str
    both: bool
    fault: Fault
    seconds: float


@dataclass(frozen=True, slots=True)
class ClockSet:
    """A wall clock is set. No job may start alone because of it."""

    domain: str
    ahead: int  # seconds, of the host's


Trouble = Down | Frozen | Cut | ClockSet


@dataclass(frozen=True, slots=True)
class Step:
    """What comes together, after a pause in seconds; the next step comes when all of it is over."""

    pause: float
    troubles: tuple[Trouble, ...]


def plan(seed: int, domains: Sequence[str]) -> Iterator[Step]:
    """An endless sequence of steps; the troubles of a step concern different domains, or a link."""
    chance = random.Random(seed)
    links = list(combinations(domains, 2))
    while True:
        pause = chance.uniform(0.2, 2)
        some = chance.sample(domains, chance.choice((0, 1, 1, 1, 2)))
        troubles = [_of_domain(chance, domain) for domain in some]
        if not some or chance.random() < 0.2:
            troubles.append(_of_link(chance, *chance.choice(links)))
        yield Step(pause, tuple(troubles))


def _length(chance: random.Random) -> float:
    """Most are short."""
    return round(LONGEST * chance.random() ** 2, 2)


def _of_domain(chance: random.Random, domain: str) -> Trouble:
    kind = chance.randrange(8)
    if kind < 5:
        return Down(domain, killed=kind < 3, seconds=_length(chance))
    return Frozen(domain, _length(chance)) if kind < 7 else ClockSet(domain, chance.choice(CLOCKS))


def _of_link(chance: random.Random, one: str, other: str) -> Trouble:
    if chance.random() < 0.5:
        one, other = other, one
    return Cut(one, other, chance.random() < 0.5, chance.choice(NETWORKS), _length(chance))
