"""The domains that an exploration has reached, and what comes of each step of theirs: worked out once."""

import pickle
import re
import sys
from functools import cache
from io import BytesIO
from typing import Any, NamedTuple

from cosched.core.coscheduling.coscheduler import Coscheduler
from cosched.core.domain import Change
from cosched.core.effects import Answer, Call, Start, Timer
from cosched.core.job import JobState
from cosched.core.protocol import FOREVER, Domain, JobId, MateStatus, Request, StartJob, call_number

from .local_domain import INSTANT, PEER, START, LocalDomain, Message, Outside, Step

Number = tuple[str, JobId, int]  # CALL or HOLD, of which job, and the number
CALL, HOLD = "call", "hold"
MADE_AGAIN = ("table", "others", "_rows", "_of_answers", "_of_requests")
NUMBERED = re.compile(r"[AB]/(\w+)/(\d+)|(?<=, job=')(\w+)', caller='\w+', generation=(\d+)")
Leaving = tuple[Message | JobId, ...]  # messages, and launches
Outcome = tuple[int, Leaving]  # the domain after it, and what leaves


class _Pickler(pickle.Pickler):
    def reducer_override(self, thing: object) -> Any:
        """Leave out of a core what can be made again."""
        if type(thing) is not Coscheduler:
            return NotImplemented
        parts = {name: part for name, part in vars(thing).items() if name not in MADE_AGAIN}
        return Coscheduler.__new__, (Coscheduler,), parts, None, None, _restore


def _restore(core: Coscheduler, parts: dict[str, object]) -> None:
    vars(core).update(parts)
    core.make_tables()


class Known(NamedTuple):
    """A domain that was reached, and what its exploration needs of it; instants are relative."""

    text: str  # without the numbers of calls and holds
    numbers: tuple[Number, ...]  # that the text leaves out, in its order
    latest: dict[tuple[str, JobId], int]  # the last call, and the last hold, of each of its jobs
    pickled: bytes
    now: int
    name: Domain
    timers: tuple[tuple[int, str, Timer | Outside], ...]
    calls: tuple[tuple[JobId, Request], ...]
    started: frozenset[JobId]
    apart: frozenset[JobId]  # that say they have started without their mates
    settled: bool  # no job asks anything
    turn: bool  # of a job that could be earlier, is open
    over: bool  # all jobs have ended


def _number(found: re.Match[str]) -> Number:
    caller, call, held, hold = found.groups()
    return (CALL, caller, int(call)) if caller is not None else (HOLD, held, int(hold))


class Domains:
    """All domains that were reached, by number."""

    def __init__(self) -> None:
        self.known: list[Known] = []
        self._numbers: dict[tuple[object, ...], int] = {}
        self.take, self.later, self.start_again = cache(self._take), cache(self._later), cache(self._start_again)

    def add(self, domain: LocalDomain) -> int:
        """The number of this domain."""
        text = domain.text()
        exact = text, *domain.numbers()
        number = self._numbers.get(exact)
        if number is None:
            number = self._numbers[exact] = len(self.known)
            self.known.append(_known(domain, text))
        return number

    def _load(self, number: int) -> LocalDomain:
        known = self.known[number]
        domain: LocalDomain = pickle.loads(known.pickled)
        domain.now = known.now
        return domain

    def _take(self, number: int, step: Step, seconds: int) -> Outcome:
        """What comes of one step of a domain, so many seconds later."""
        domain = self._load(number)
        domain.now += seconds
        left = domain.take(moved_step(step, domain.now - START))
        return self.add(domain), _leaving(domain, left)

    def _later(self, number: int, seconds: int) -> int:
        """The domain after so much time, in which nothing happens to it."""
        if not seconds:
            return number
        domain = self._load(number)
        domain.now += seconds
        return self.add(domain)

    def _start_again(self, number: int, unlaunched: tuple[JobId, ...]) -> Outcome:
        """The domain after it was killed, and has started again."""
        domain = self._load(number)
        left = domain.start_again(list(unlaunched))
        return self.add(domain), _leaving(domain, left)


def _known(domain: LocalDomain, text: str) -> Known:
    pickled = BytesIO()
    _Pickler(pickled, pickle.HIGHEST_PROTOCOL).dump(domain)
    jobs = domain.core.jobs.values()
    latest = {(CALL, job.id): domain.core.ledger.calls_before + job.calls for job in jobs}
    latest |= {(HOLD, job.id): job.generation for job in jobs}
    return Known(
        sys.intern(NUMBERED.sub("#", text)),
        tuple(_number(found) for found in NUMBERED.finditer(text)),
        latest,
        pickled.getvalue(),
        domain.now,
        domain.name,
        tuple(sorted((at - domain.now, job, timer) for (job, timer), at in domain.timers.items())),
        tuple((job, _moved(request, START - domain.now)) for job, request in domain.calls),
        frozenset(domain.ends),
        frozenset(domain.apart),
        settled=not domain.calls and all(job.call is None and job.state is not JobState.READY for job in jobs),
        turn=getattr(domain.machine, "turn", None) is not None,
        over=not domain.to_come and all(job.state.final for job in jobs),
    )


def _leaving(domain: LocalDomain, left: list[Change]) -> Leaving:
    """What leaves, relative to START."""
    back, peer = START - domain.now, PEER[domain.name]
    leaving: list[Message | JobId] = []
    for change in left:
        if type(change) is Call:
            leaving.append(Message(peer, change.job, _moved(change.request, back)))
        elif type(change) is Answer:
            request = change.request
            leaving.append(Message(peer, request.caller, _moved(request, back), _moved(change.answer, back)))
        elif type(change) is Start:
            leaving.append(change.job)
    return tuple(leaving)


def _moved(message: Any, seconds: int) -> Any:
    """A request or an answer with all its instants moved."""
    if not seconds:
        return message
    return type(message)(*(value + seconds if _is_instant(value) else value for value in message))


def _is_instant(value: object) -> bool:
    return type(value) is int and START // 2 < value < FOREVER


def moved_message(message: Message, seconds: int) -> Message:
    request, answer = _moved(message.request, seconds), message.answer
    return Message(message.to, message.job, request, answer and _moved(answer, seconds))


@cache
def numbered(message: Message) -> tuple[str, list[Number]]:
    """The text of a message without the numbers of calls and holds, and these."""
    request, answer = message.request, message.answer
    numbers: list[Number] = []
    if (id := getattr(request, "request_id", None)) is not None:
        numbers.append((CALL, message.job, call_number(id)))
        request = request._replace(request_id="")
    if type(request) is StartJob:
        numbers.append((HOLD, request.job, request.generation))
        request = request._replace(generation=0)
    if type(answer) is MateStatus:
        numbers.append((HOLD, request.job, answer.generation))
        answer = answer._replace(generation=0)
    text = repr(message._replace(request=request, answer=answer))
    return INSTANT.sub(lambda instant: instant[0] if int(instant[0]) >= START else "past", text), numbers


def moved_step(step: Step, seconds: int) -> Step:
    return step if step.message is None else step._replace(message=moved_message(step.message, seconds))
