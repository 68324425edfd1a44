"""The event loop over all domains."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from . import coschedule, groups
from .cofluid import FluidState, RefFluid
from .iteration import MayHold, Taken, iterate
from .model import RefDomain, RefOutcome
from .order import ordered
from .planned import Plan, PlannedIteration
from .slots import settle
from .state import DomainState, Entry

Name = tuple[str, int]
Groups = Mapping[str, Sequence[Name]]  # of more than two jobs, or with windows, by name
Windows = Mapping[Name, tuple[int, int]]  # of jobs of groups; (0, 0) if not given
Instants = Mapping[str, int]  # of groups, by name
Watch = Callable[["World"], None]


def simulate(
    domains: list[RefDomain],
    pairs: list[tuple[Name, Name]],
    watch: Watch | None = None,
    max_time: float = math.inf,
    groups: Groups | None = None,
    windows: Windows | None = None,
    instants: Instants | None = None,
) -> dict[Name, RefOutcome]:
    """Run to the last event, or the last up to `max_time`. `watch` sees every phase and every decision."""
    world = World(domains, pairs, watch, groups, windows, instants)
    world.run(max_time)
    return world.outcomes()


class World:
    def __init__(
        self,
        domains: list[RefDomain],
        pairs: list[tuple[Name, Name]],
        watch: Watch | None = None,
        large: Groups | None = None,
        windows: Windows | None = None,
        instants: Instants | None = None,
    ) -> None:
        self.now = 0
        self.domains = [FluidState(c) if isinstance(c, RefFluid) else DomainState(c) for c in domains]
        self.entries = {(e.domain.config.name, e.job.job_id): e for d in self.domains for e in d.entries}
        self._watch = watch
        for one, other in pairs:
            self._link(self.entries[one], self.entries[other])
        for name, members in (large or {}).items():
            of = {self.entries[member]: (windows or {}).get(member, (0, 0)) for member in members}
            groups.link(name, of, (instants or {}).get(name))

    @staticmethod
    def _link(one: Entry, other: Entry) -> None:
        assert one.mate is None
        assert other.mate is None
        assert one.domain is not other.domain
        # "A job whose mate's domain has coscheduling off counts as a job without a mate."
        if "off" not in (one.domain.config.scheme, other.domain.config.scheme):
            one.mate, other.mate = other, one

    def run(self, max_time: float = math.inf) -> None:
        while (time := self.next_time()) <= max_time and time < math.inf:
            self.step(time)

    def next_time(self) -> float:
        return min(self._event_times(), default=math.inf)

    def _event_times(self) -> Iterator[float]:
        for domain in self.domains:
            if domain.unsubmitted:
                yield domain.unsubmitted[0].job.submit
            for entry in domain.running:
                yield domain.end_of(entry)
            for entry in domain.holding:
                yield entry.release
            for entry in domain.queue:
                if entry.slot is not None:
                    yield entry.slot.at
                if entry.group is not None and entry.group.at is not None and entry.group.passed_from() > self.now:
                    yield entry.group.passed_from()

    def step(self, time: int) -> None:
        # "At one time t, each phase for all domains before the next: (1) completions; (2) timers due [...];
        # (3) submissions in trace order; (4) scheduling iterations."
        self.now = time
        for domain in self.domains:
            domain.yielded.clear()
            domain.released.clear()
        for phase in (self._completions, self._timers, self._submissions, self._iterations):
            phase()
            self._show()

    def _completions(self) -> None:
        for domain in self.domains:
            for entry in list(domain.running):
                if domain.end_of(entry) == self.now:
                    domain.complete(entry)

    def _timers(self) -> None:
        for domain in self.domains:
            for entry in list(domain.holding):
                if entry.release == self.now:
                    domain.release(entry, self.now)
            for entry in list(domain.queue):
                if entry.slot is not None and entry.slot.at == self.now:
                    # "at the slot (a timer) both start"; of a group "each starts at its own"
                    domain.start(entry, entry.slot.place, self.now)
                elif entry.group is not None and entry.group.at is not None:
                    # "when that has passed, the domain looks at its queue again"
                    domain.changed |= entry.group.passed_from() == self.now

    def _submissions(self) -> None:
        for domain in self.domains:
            while domain.unsubmitted and domain.unsubmitted[0].job.submit == self.now:
                domain.submit(domain.unsubmitted[0])

    def _iterations(self) -> None:
        # "domains take turns in the order in which they are configured. Each iterates until nothing changes. The rounds
        # go on until no domain changes"
        while any(domain.changed for domain in self.domains):
            for domain in self.domains:
                while domain.changed:  # by an event at this time, or since by a start or a hold
                    domain.changed = False
                    self._iterate(domain)

    def _iterate(self, domain: DomainState) -> None:
        def attempt(entry: Entry, place: object, may_hold: MayHold, *plan: Plan) -> Taken | None:
            if entry.group is None:
                taken = coschedule.run_job(entry, place, may_hold, self.now, *plan)
            else:
                taken = groups.run_job(entry, place, may_hold, self.now, *plan)
            self._show()
            return taken

        def early(entry: Entry, plan: Plan) -> None:
            agree = settle if entry.group is None else groups.agree
            assert not agree(entry, plan, self.now), "it does not fit now"

        if isinstance(domain, FluidState):
            domain.iterate(self.now, attempt)
            return
        order = [entry for entry in ordered(domain, self.now) if entry not in domain.yielded]
        if domain.config.meets():
            PlannedIteration(domain.profile(self.now), order, self.now, attempt, early).run(domain.config)
        else:
            iterate(domain, order, self.now, attempt)

    def _show(self) -> None:
        if self._watch is not None:
            self._watch(self)

    def outcomes(self) -> dict[Name, RefOutcome]:
        return {name: self._outcome(entry) for name, entry in self.entries.items()}

    def _outcome(self, entry: Entry) -> RefOutcome:
        held = entry.held_node_seconds
        if entry.status == "holding":  # still, after the last event of all
            held += entry.nodes * (self.now - entry.hold_began)
        end = None if entry.start is None else entry.domain.end_of(entry)
        state = "never_started" if entry.start is None else "completed"
        return RefOutcome(entry.ready, entry.start, end, entry.holds, entry.yields, held, state)
