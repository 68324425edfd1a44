"""What became of a history, by the jobs' own notes: what was lost, came twice, was half, or had another's nodes.

A pair is half if a job of it started without its mate, or much earlier. That may be only if a fault was in force on
that pair at that moment; the moment is known to a second, for records have whole seconds.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from cosched.client import Event, Job
from tests.live.history.work import Stamp, Submitted, stamps
from tests.live.history.world import SLOTS, Seen, World
from tests.live.services import Service
from tests.live.workloads import are_together

WINDOW = 1.0  # seconds about the moment
STALL = 20.0  # seconds that mates' begins may lie apart where no fault was: processes of a busy machine stall
LATE = "its mate started before it: desynchronised"

Key = tuple[str, str]  # domain, job


@dataclass(frozen=True, slots=True)
class Member:
    """A job of a pair: why and when it started by its domain's record, when it began by its own note."""

    domain: str
    job: str
    why: str
    decided: tuple[float, ...]  # by the host's clock; more than one if the domain's clock was set
    began: float

    @property
    def moments(self) -> list[tuple[float, float]]:
        """From when to when it may have been that the start was decided, window included."""
        return [(at - WINDOW, min(self.began, at + 1) + WINDOW) for at in self.decided if at <= self.began + WINDOW]


class Verdict:
    """Of a world whose jobs have all ended."""

    def __init__(self, world: World, submitted: Sequence[Submitted]) -> None:
        self._world = world
        self._submitted = {(entry.domain, entry.job): entry for entry in submitted}
        self._count = len(submitted)
        self._stamps: dict[Key, list[Stamp]] = defaultdict(list)
        for name in world.places:
            for stamp in stamps(world.folder, name):
                self._stamps[stamp.domain, stamp.job].append(stamp)
        self._records: dict[Key, Job] = {}
        self._starts: dict[Key, list[Event]] = defaultdict(list)
        for service in world.services:
            self._read(service)

    def _read(self, service: Service) -> None:
        with service.client() as client:
            for job in client.jobs(["queued", "holding", "running", "completed", "failed", "cancelled"]):
                self._records[service.name, job.id] = job
            for event in client.events(after=0, kinds=["started"], until_now=True):
                self._starts[service.name, str(event.job).rpartition(":")[2]].append(event)

    def wrong(self) -> list[str]:
        """Jobs that were lost, came twice, did not complete, or that nobody submitted; nodes that two jobs had."""
        found = [] if self._count == len(self._submitted) else ["an id was given twice"]
        for key in self._submitted.keys() | self._stamps.keys() | self._records.keys():
            noted = [stamp.what for stamp in self._stamps[key]]
            state = self._records[key].state if key in self._records else "unknown"
            if key not in self._submitted:
                found.append(f"{key}: nobody submitted it ({noted}, {state})")
            elif noted != ["begin", "end"] or state != "completed" or len(self._starts[key]) != 1:
                found.append(f"{key}: {noted}, {state}, {len(self._starts[key])} starts on record")
        return found + self._overbooked()

    def _overbooked(self) -> list[str]:
        found = []
        for domain in self._world.places:
            used, most = 0, 0
            for stamp in sorted(stamps(self._world.folder, domain), key=lambda stamp: stamp.at):
                nodes = self._submitted[domain, stamp.job].work.nodes if (domain, stamp.job) in self._submitted else 0
                used += nodes if stamp.what == "begin" else -nodes
                most = max(most, used)
            if most > SLOTS:
                found.append(f"{domain}: {most} of {SLOTS} nodes were used at once")
        return found

    def pairs(self) -> dict[str, tuple[Member, Member]]:
        """The members of each pair, in the order in which they began."""
        members: dict[str, list[Member]] = defaultdict(list)
        for (domain, job), entry in self._submitted.items():
            if entry.work.peer:
                members[entry.work.name].append(self._member(domain, job))
        return {name: tuple(sorted(both, key=lambda m: m.began)) for name, both in members.items()}

    def _member(self, domain: str, job: str) -> Member:
        (event,) = self._starts[domain, job]
        decided = tuple(event.at.timestamp() - ahead for ahead in set(self._world.shifts(domain)))
        return Member(domain, job, event.detail["why"], decided, self._stamps[domain, job][0].at)

    def half(self) -> dict[str, tuple[Member, Member]]:
        """The pairs whose jobs did not start together, though no crash came between the two."""
        return {name: both for name, both in self.pairs().items() if not self._whole(*both)}

    def _whole(self, first: Member, second: Member) -> bool:
        """Whether neither started alone, and one no later than the machine, or a fault between the two, explains."""
        if _is_alone(first) or _is_alone(second):
            return False
        if second.began - first.began <= STALL and LATE not in (first.why, second.why):
            return True
        return bool(self._during((first, second), [(first.began - WINDOW, second.began + WINDOW)]))

    def excuses(self, first: Member, second: Member) -> list[Seen]:
        """The faults in force on that pair when a job of it started without its mate, or between the two begins."""
        moments = [moment for member in (first, second) if _is_alone(member) for moment in member.moments]
        if not moments:
            moments = [(first.began - WINDOW, second.began + WINDOW)]
        return self._during((first, second), moments)

    def _during(self, members: tuple[Member, Member], moments: list[tuple[float, float]]) -> list[Seen]:
        names = [member.domain for member in members]
        return [seen for seen in self._world.seen if any(seen.concerns(names, *moment) for moment in moments)]

    def summary(self) -> str:
        """In a line or two."""
        pairs = self.pairs()
        gaps = sorted(second.began - first.began for first, second in pairs.values())
        kinds = Counter(type(seen.trouble).__name__ for seen in self._world.seen)
        half = Counter(tuple(sorted(member.why for member in both)) for both in self.half().values())
        return (
            f"{self._count} jobs, {len(pairs)} pairs, {dict(kinds)}, clock set {len(self._world.clocks)} times; "
            f"mates began {median(gaps):.3f} s apart in the median, {gaps[-1]:.1f} s at most; half: {dict(half)}"
        )


def _is_alone(member: Member) -> bool:
    """Whether it started because of something else than its mate."""
    return member.why != LATE and not are_together([member.why, "asked by x"])
