"""The real core, explored: every state that policy domains reach, breadth first, whatever the order of what happens.

Messages between two domains arrive in any order, at any time; some are lost, doubled, or late, and a domain may be
killed in any of its turns, and starts again at once from what is on record: as many faults in one history as
`Scenario.faults` says. The clock goes from one timer to another, and never back. Timers of one domain fire in the order
of their instants; those of the other one may overtake them, by `Scenario.late`.

How it works. A state is made of two domains and the messages under way. A domain (`LocalDomain`) is pickled, and known
by a text of all that it knows, with instants relative to the present one: two domains with equal texts go on equally,
so what comes of one event in one domain is worked out only once (`Domains`). `Exploration` goes from state to state.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from cosched.core.effects import Timer
from cosched.core.protocol import FOREVER, Domain, Failure, JobId, Request

from .known_domains import CALL, HOLD, Domains, Leaving, Number, moved_message, numbered
from .local_domain import CRASHES, PEER, Fault, LocalDomain, Message, Outside, Scenario, Step

Key = tuple[object, ...]


class State(NamedTuple):
    """Two domains, what is under way between them, and how many faults may still come."""

    a: int
    b: int
    under_way: tuple[Message, ...]
    faults: int
    had: bool = False  # a fault

    def of(self, domain: Domain) -> int:
        return self.a if domain == "A" else self.b


class Next(NamedTuple):
    """One way to go on."""

    what: str
    state: State


class Wrong(AssertionError):  # noqa: N818
    """Something that must not be, and the way to it."""

    def __init__(self, what: str, way: list[str]) -> None:
        super().__init__("\n".join([what, *way]))
        self.what, self.way = what, way


@dataclass
class Exploration:
    """Goes through the states of a scenario. `reached`: each state, and how it was reached first."""

    scenario: Scenario
    domains: Domains = field(default_factory=Domains)
    reached: dict[Key, tuple[Key | None, str]] = field(default_factory=dict)
    ends_well: set[Key] = field(default_factory=set)
    depth: int = 0
    complete: bool = False
    calm: int = 0

    def run(self, depth: int = 10**9, states: int = 10**9) -> Exploration:
        """Go to this depth, or until there are so many states. Raises Wrong."""
        a, b = (self.domains.add(LocalDomain(name, self.scenario)) for name in "AB")
        first = State(a, b, (), self.scenario.faults)
        self.reached[self.key(first)] = None, ""
        level = [first]
        while level and self.depth < depth and len(self.reached) < states:
            self.depth += 1
            level = self._next_level(level)
        self.complete = not level
        return self

    def _next_level(self, level: list[State]) -> list[State]:
        found = []
        for state in level:
            key = self.key(state)
            try:
                self._check(state)
                for what, after in self.ways(state):
                    reached = self.key(after)
                    if reached not in self.reached:
                        self.reached[reached] = key, what
                        found.append(after)
            except Wrong:
                raise
            except Exception as error:
                raise Wrong(f"{type(error).__name__}: {error}", [*self.way(state), "and one step more"]) from error
        return found

    def key(self, state: State) -> Key:
        """Equal for two states that go on equally: of the numbers of calls and holds only the order counts."""
        a, b = self.domains.known[state.a], self.domains.known[state.b]
        under_way = sorted(map(numbered, state.under_way))
        numbers = [*a.numbers, *b.numbers, *(number for _, of in under_way for number in of)]
        messages = tuple(text for text, _ in under_way)
        return (a.text, b.text, messages, _relative(numbers, a.latest | b.latest), state.faults, state.had)

    def way(self, state: State) -> list[str]:
        """How a state was reached."""
        steps = []
        before: Key | None = self.key(state)
        while before is not None:
            before, what = self.reached[before]
            steps.append(what)
        return steps[-2::-1]

    # What must hold

    def _check(self, state: State) -> None:
        a, b = self.domains.known[state.a], self.domains.known[state.b]
        if self._is_whole(state) and self._apart(state):
            raise Wrong("a pair has started apart", self.way(state))
        if state.under_way or not (a.settled and b.settled):
            return
        self.calm += 1
        if a.turn or b.turn:
            raise Wrong("a turn stays open", self.way(state))
        started = a.started | b.started
        if self._is_whole(state) and any(len(started & set(pair)) == 1 for pair in self.scenario.pairs):
            raise Wrong("half a pair has started", self.way(state))
        self._check_end(state)

    def _check_end(self, start: State) -> None:
        """From here on nothing goes wrong any more, and everybody is in time: then all jobs start, and end."""
        seen: dict[Key, str] = {}
        state, key = start, self.key(start)
        while key not in self.ends_well and not self._over(state):
            way = self.fair(state)
            if way is None or key in seen:
                what = "stands still" if way is None else "goes on for ever"
                raise Wrong(what, [*self.way(start), "without more faults:", *seen.values()])
            seen[key] = way.what
            state = way.state
            key = self.key(state)
        if self._is_whole(start) and self._apart(state):
            raise Wrong("a pair starts apart", [*self.way(start), "without more faults:", *seen.values()])
        self.ends_well.update(seen)

    def _over(self, state: State) -> bool:
        return self.domains.known[state.a].over and self.domains.known[state.b].over

    def _is_whole(self, state: State) -> bool:
        """Whether no pair may start apart."""
        return self.scenario.whole or not state.had

    def _apart(self, state: State) -> frozenset[JobId]:
        """Jobs whose records say that they have started without their mates."""
        return self.domains.known[state.a].apart | self.domains.known[state.b].apart

    # What may happen

    def ways(self, state: State) -> Iterator[Next]:
        """Each way to go on."""
        for message in dict.fromkeys(state.under_way):
            yield from self._arrives(state, message)
        given_up = [(name, call) for name in "AB" for call in self._given_up(state, name)]
        for name, (job, request) in given_up:
            step = Step(Message(name, job, request), Failure.TIMEOUT)
            yield from self._happens(state, name, step, state.under_way, "the call is lost")
        due = [(at, name, timer) for name in "AB" for at, timer in self._due(state, name)]
        last = min((at for at, _, (_, timer) in due if timer is not Outside.LOOK), default=FOREVER) + self.scenario.late
        last = last if self.scenario.slow or not (state.under_way or given_up) else 0
        for at, name, timer in due:
            if at <= max(last, 0):
                yield from self._timer(state, name, at, timer)
        if state.faults:
            yield from self._goes_wrong(state._replace(faults=state.faults - 1, had=True))

    def fair(self, state: State) -> Next | None:
        """The way to go on without faults, where everybody is in time: messages, calls that are lost, then timers."""
        calm = state._replace(faults=0)
        for message in state.under_way:
            return next(self._arrives(calm, message))
        for name in "AB":
            for job, request in self._given_up(state, name):
                step = Step(Message(name, job, request), Failure.TIMEOUT)
                return next(self._happens(calm, name, step, (), "the call is lost"))
        due = [(max(at, 0), name, timer) for name in "AB" for at, timer in self._due(state, name)]
        if not due:
            return None
        at, name, timer = min(due)
        return next(self._timer(calm, name, at, timer))

    def _due(self, state: State, name: Domain) -> list[tuple[int, tuple[str, Timer | Outside]]]:
        """Timers that may fire next: the earliest ones of a domain."""
        timers = self.domains.known[state.of(name)].timers
        first = min((at for at, _, timer in timers if timer is not Outside.LOOK), default=0)
        return [(at, (job, timer)) for at, job, timer in timers if at <= first or timer is Outside.LOOK]

    def _given_up(self, state: State, name: Domain) -> list[tuple[JobId, Request]]:
        """Calls of a domain of which nothing is under way any more."""
        calls = self.domains.known[state.of(name)].calls
        if not calls:
            return []
        left = Counter(calls)
        for message in state.under_way:
            if message.to == (name if message.answer is not None else PEER[name]):
                left[message.job, message.request] -= 1
        return [call for call, count in left.items() if count > 0]

    def _arrives(self, state: State, message: Message) -> Iterator[Next]:
        under_way = _without(state.under_way, message)
        yield from self._happens(state, message.to, Step(message), under_way, "arrives")

    def _timer(self, state: State, name: Domain, at: int, timer: tuple[str, Timer | Outside]) -> Iterator[Next]:
        seconds = max(at, 0)
        under_way = tuple(moved_message(message, -seconds) for message in state.under_way)
        other = self.domains.later(state.of(PEER[name]), seconds)
        moved = state._replace(b=other) if name == "A" else state._replace(a=other)
        yield from self._happens(moved, name, Step(timer=timer), under_way, "is due", seconds)

    def _happens(
        self, state: State, name: Domain, step: Step, under_way: tuple[Message, ...], how: str, seconds: int = 0
    ) -> Iterator[Next]:
        """A step of one domain, so much later; the domain may be killed meanwhile."""
        after, left = self.domains.take(state.of(name), step, seconds)
        what = f"{name}: {step.timer or step.message} {how}" + (f", {seconds} s later" if seconds else "")
        yield Next(what, _with(state, name, after, under_way, left))
        if not state.faults or not self.scenario.kinds & CRASHES:
            return
        before = self.domains.later(state.of(name), seconds)
        fewer = state._replace(faults=state.faults - 1, had=True)
        still = tuple(message for message in under_way if message.to != name or message.answer is None)
        for kept in {still, tuple(message for message in under_way if message.to != name)}:  # requests may get lost
            for killed, number, sent, unsent in self._deaths(before, after, left):
                unlaunched = tuple(thing for thing in unsent if not isinstance(thing, Message))
                again, more = self.domains.start_again(number, unlaunched)
                yield Next(f"{what}; killed {killed}", _with(fewer, name, again, kept, (*sent, *more)))

    def _deaths(self, before: int, after: int, left: Leaving) -> Iterator[tuple[str, int, Leaving, Leaving]]:
        """How a domain may be killed in a turn: what is on record then, what has left, and what has not."""
        messages = tuple(thing for thing in left if isinstance(thing, Message))
        if Fault.POWER in self.scenario.kinds:
            yield "with its record", before, tuple(message for message in messages if message.answer is None), ()
        if Fault.UNRECORDED in self.scenario.kinds:
            yield "before the record, but all is sent", before, messages, ()
        if Fault.CRASH in self.scenario.kinds:
            yield "before the record", before, (), ()
            for count in range(len(left) + 1):
                yield f"after {count} of {len(left)}", after, left[:count], left[count:]

    def _goes_wrong(self, state: State) -> Iterator[Next]:
        kinds = self.scenario.kinds
        for message in dict.fromkeys(state.under_way):
            without = _without(state.under_way, message)
            if Fault.LOSE in kinds:
                yield Next(f"lost: {message}", state._replace(under_way=without))
            if Fault.DOUBLE in kinds:
                yield Next(f"doubled: {message}", state._replace(under_way=(*state.under_way, message)))
            caller = message.to if message.answer is not None else PEER[message.to]
            is_awaited = (message.job, message.request) in self.domains.known[state.of(caller)].calls
            fails = Message(caller, message.job, message.request)
            if Fault.LATE in kinds and is_awaited:
                yield from self._happens(state, caller, Step(fails, Failure.TIMEOUT), state.under_way, "is late")
            if message.answer is None and is_awaited:
                for fault, failure in ((Fault.UNREACHABLE, Failure.UNREACHABLE), (Fault.BUSY, Failure.BUSY)):
                    if fault in kinds:
                        yield from self._happens(state, caller, Step(fails, failure), without, fault)


def _with(state: State, name: Domain, number: int, under_way: tuple[Message, ...], left: Leaving) -> State:
    sent = [thing for thing in left if isinstance(thing, Message)]
    a, b = (number, state.b) if name == "A" else (state.a, number)
    return State(a, b, (*under_way, *sent), state.faults, state.had)


def _relative(numbers: list[Number], latest: dict[tuple[str, JobId], int]) -> tuple[int, ...]:
    """Numbers of calls and holds as seen from the latest one of the job.

    Of calls only the order counts, of holds only whether it is the present one or the next.
    """
    calls: dict[JobId, set[int]] = {job: {last} for (kind, job), last in latest.items() if kind is CALL}
    for kind, job, number in numbers:
        if kind is CALL:
            calls[job].add(number)
    places = {job: {number: at for at, number in enumerate(sorted(known))} for job, known in calls.items()}
    last = tuple(places[job][latest[CALL, job]] for job in calls)
    return *last, *(
        places[job][number] if kind is CALL else max(number - latest.get((HOLD, job), 0), -1)
        for kind, job, number in numbers
    )


def _without(messages: tuple[Message, ...], message: Message) -> tuple[Message, ...]:
    at = messages.index(message)
    return messages[:at] + messages[at + 1 :]
