"""What has become of jobs that their owners have changed, and that follow each other, while services were killed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cosched.client import Event, Job
from cosched.core.story import Why
from tests.live.kill_campaign import Seen
from tests.live.owners import Together, Told
from tests.live.services import WITH_MATES, Federation, noted

ENDED = ["completed", "failed", "cancelled"]
SLACK = 15.0  # seconds by which a busy machine may be late; a safety net, not a measure
SECOND = 1.0  # to which stories tell instants
Ref = tuple[str, str]  # domain, id


@dataclass(frozen=True, slots=True)
class Hold:
    """Nodes kept, from an instant to another."""

    job: Ref
    begin: float
    end: float


class Lives:
    """The jobs of these domains, all of which have ended, and their stories."""

    def __init__(self, domains: Federation, work: Sequence[Together], told: Told, seen: Seen) -> None:
        self.domains, self.told, self.seen = domains, told, seen
        self.together = {each.name: each for each in work}
        self.jobs: dict[Ref, Job] = {}
        self.stories: dict[Ref, list[Event]] = defaultdict(list)
        for service in domains.services:
            with service.client() as client:
                self.jobs |= {(service.name, job.id): job for job in client.jobs(ENDED)}
                for event in client.events(0, until_now=True):
                    if event.job is not None:
                        self.stories[service.name, str(event.job).rpartition(":")[2]].append(event)
        self.starts = Counter((domain, job) for domain, job, *_ in noted(domains.folder))

    def summary(self) -> str:
        """For people."""
        states = Counter(job.state for job in self.jobs.values())
        whys = Counter(event.detail["why"] for ref in self.stories for event in self._events(ref, "started"))
        again, ended = self.requeues(), self.ended_with_mates()
        return (
            f"{self.seen.kills} kills; {dict(states)}; owners did {dict(self.told.done)}, were refused"
            f" {dict(self.told.refused)}; queued again {again}, ended with mates {ended}; started: {dict(whys)};"
            f" longest vain hold {self.longest_vain_hold():.1f} s of {self.allowed(2, 1):.1f}"
        )

    def requeues(self) -> int:
        """How often jobs have lost their nodes, and were queued again."""
        return sum(self._requeues(ref) for ref in self.stories)

    def ended_with_mates(self) -> int:
        """How many jobs were ended as the other one of their pair had ended."""
        return sum("ended with its mate" in self._story(ref) for ref in self.stories)

    def check_all_is_there_once(self) -> None:
        """No job is lost or doubled, ran twice at a time, or more often than its records say."""
        assert not (self.domains.folder / "doubled").exists()
        assert self.jobs.keys() == self.told.jobs.keys()
        for ref in self.jobs:
            if not self.told.jobs[ref]:
                continue
            begun, again = len(list(self._events(ref, "started"))), self._requeues(ref)
            # It may have been cancelled before its first instruction.
            early = self.jobs[ref].state != "completed" or "ended with" in self._story(ref)
            assert begun - again - early <= self.starts[ref] <= begun, self._story(ref)
            unasked = [event for event in self._events(ref, "started") if event.detail["why"] == Why.STARTED_UNASKED]
            last = [event for event in self.stories[ref] if event.kind != "warning"]  # a gap is told later
            assert len(unasked) <= (last[-2] in unasked), self._story(ref)  # it has ended before its order

    def check_no_half_of_those_that_are_queued_again_together(self) -> None:
        """Where no owner changed anything, and nobody fails, all starts are with the mates, however often.

        But for one whose mate has completed, or is too late since its service was killed as it started.
        """
        for name, refs in self._members().items():
            each = self.together[name]
            if name in self.told.touched or not each.requeue or each.fails or len(refs) < len(self.domains.services):
                continue
            for ref in refs:
                for event in self._events(ref, "started"):
                    why = event.detail["why"]  # unasked: it has ended before its order, as checked above
                    fine = why == Why.STARTED_UNASKED or why.startswith(WITH_MATES)
                    assert fine or self._may_be_late(ref, event, refs), (name, ref, self._all(refs))

    def _may_be_late(self, ref: Ref, event: Event, refs: Sequence[Ref]) -> bool:
        at = event.at.timestamp()
        others = [other for other in refs if other != ref]
        if any(self.jobs[other].ended_at.timestamp() <= at + SECOND for other in others):
            return True
        starts = [each.at.timestamp() for other in others for each in self._events(other, "started")]
        first = max((start for start in starts if start <= at + SECOND), default=at)
        away = any(
            begin <= at and first - SECOND <= end for domain, _ in refs for begin, end in self.seen.outages[domain]
        )
        return event.detail["why"] == Why.MATE_STARTED_BEFORE and away

    def check_jobs_end_with_those_that_they_follow(self) -> None:
        """A job that ends with another does so soon after that, or when its service was there again."""
        for name, refs in self._members().items():
            each = self.together[name]
            leader = each.main or each.fails
            mains = [ref for ref in refs if ref[0] == leader]
            if leader is None or name in self.told.touched or len(mains) != 1:
                continue
            [main] = mains
            ended = self.jobs[main].ended_at.timestamp()
            for ref in refs:
                if ref == main or not self._ran_with(ref, main):
                    continue
                job = self.jobs[ref]
                assert job.state == ("completed" if each.main else "failed"), (name, self._all(refs))
                assert job.ended_at.timestamp() <= ended + self.seen.longest_outage + SLACK, (name, self._all(refs))
                assert "time limit" not in self._story(ref), (name, self._all(refs))

    def _ran_with(self, ref: Ref, main: Ref) -> bool:
        """Whether the last runs of both were at the same time."""
        job, other = self.jobs[ref], self.jobs[main]
        if job.started_at is None or other.started_at is None:
            return False
        latest = max(job.started_at, other.started_at)
        return bool(latest < min(job.ended_at, other.ended_at))

    def longest_vain_hold(self) -> float:
        """Seconds for which a job held while no other member lived, and no service was away."""
        return max((self._vain(hold) for ref in self._paired() for hold in self._holds(ref)), default=0.0)

    def vainest(self) -> str:
        """The stories of the job that held longest so, and of those with which it was to start."""
        hold = max((hold for ref in self._paired() for hold in self._holds(ref)), key=self._vain)
        return f"{hold}\n{self._all(self._members()[self.told.jobs[hold.job]])}\n{dict(self.seen.outages)}"

    def allowed(self, hold_check: float, successor_hold: float) -> float:
        """Seconds for which that may be: until the check, and the exchange, and for another in its place."""
        return hold_check + successor_hold + SLACK

    def _vain(self, hold: Hold) -> float:
        name = self.told.jobs[hold.job]
        others = [self.jobs[ref] for ref in self._members()[name] if ref[0] != hold.job[0]]
        came = [job for job in others if job.submitted_at.timestamp() < hold.end]
        since = self.jobs[hold.job].submitted_at
        ended = [job.ended_at.timestamp() for job in came if job.ended_at >= since]
        if not ended or max(ended) >= hold.end:
            return 0.0  # one lives, or none was there while it waited
        domains = {domain for domain, _ in self._members()[name]}
        away = [end for domain in domains for begin, end in self.seen.outages[domain] if begin < hold.end]
        return hold.end - max([hold.begin, max(ended), *away])

    def _holds(self, ref: Ref) -> Iterator[Hold]:
        begin = None
        for event in self._events(ref, "held", "released", "started", "ended", "yielded", "unlinked", "linked"):
            if begin is not None:
                yield Hold(ref, begin, event.at.timestamp())
            begin = event.at.timestamp() if event.kind == "held" else None

    def _paired(self) -> list[Ref]:
        return [ref for ref, name in self.told.jobs.items() if name and ref in self.jobs]

    def _members(self) -> dict[str, list[Ref]]:
        members = defaultdict(list)
        for ref in self._paired():
            members[self.told.jobs[ref]].append(ref)
        return members

    def _events(self, ref: Ref, *kinds: str) -> Iterator[Event]:
        return (event for event in self.stories[ref] if event.kind in kinds)

    def _requeues(self, ref: Ref) -> int:
        return sum("queued again" in event.text and event.kind == "warning" for event in self.stories[ref])

    def _story(self, ref: Ref) -> str:
        lines = [f"{event.at:%H:%M:%S.%f} {event.kind}: {event.text}" for event in self.stories[ref]]
        return "\n".join([f"{ref}", *lines])

    def _all(self, refs: Sequence[Ref]) -> str:
        return "\n".join(map(self._story, refs))
