"""Jobs here that name others, and can have no mate: some arrays and heterogeneous jobs of batch systems.

They are not jobs of the domain: their resource manager starts them alone. Who asks for one hears why there is no mate.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from cosched.core.coscheduling.asked_early import EarlyCallers, PairName
from cosched.core.protocol import Domain, Found, GetMember, JobId, Lookup, MateJobId, MateProblem, array_of, named_id


class Mateless(NamedTuple):
    """Such a job, which names others on these domains; `name`: of its pair or group, empty if it has none.

    `tasks`: those of an array that are jobs of their own, named NAME[TASK]: only whoever asks for NAME, or for another
    task, hears that there is no mate.
    """

    owner: str
    peers: Sequence[Domain]
    name: str
    of_group: bool
    problem: MateProblem
    tasks: frozenset[int] | None = None


Key = tuple[str, str, bool]  # owner, name, whether it is a group's


@dataclass(slots=True)
class MatelessJobs:
    """Those that exist, as far as is known. `early`: who has asked for jobs that were not there."""

    early: EarlyCallers = field(default_factory=EarlyCallers)
    _jobs: dict[JobId, Mateless] = field(default_factory=dict)
    _by_name: dict[Key, dict[JobId, None]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._jobs)

    def __contains__(self, job: JobId) -> bool:
        return job in self._jobs

    def add(self, job: JobId, of: Mateless) -> list[tuple[Domain, JobId]]:
        """Note such a job. Return the jobs of peers that have asked for it, or for a task that it has not."""
        self.drop(job)
        self._jobs[job] = of
        self._by_name.setdefault(_key(of), {})[job] = None
        name = PairName(of.owner, of.name)
        early: list[tuple[Domain, JobId]] = []
        for peer in of.peers:
            caller = self.early.take(peer, name, of_group=of.of_group)
            others = self.early.take_others(peer, name, of.tasks or (), of_group=of.of_group)
            early += [(peer, each) for each in ([] if caller is None else [caller]) + others]
        return early

    def drop(self, job: JobId) -> None:
        """The job has ended."""
        if (of := self._jobs.pop(job, None)) is None:
            return
        namesakes = self._by_name[_key(of)]
        del namesakes[job]
        if not namesakes:
            del self._by_name[_key(of)]

    def instead(self, answer: MateJobId, peer: Domain, owner: str, request: Lookup) -> MateJobId:
        """Return what a peer hears that asks for such a job, else `answer`; `owner`: the caller's, as called here."""
        if answer.found is Found.UNSUBMITTED or answer.problem is MateProblem.UNKNOWN:
            for job in self._found(owner, request):
                of = self._jobs.get(job)
                if of is not None and of.owner == owner and peer in of.peers and not _has(of, request):
                    return MateJobId(Found.NO_PAIR, None, of.problem)
        return answer

    def _found(self, owner: str, request: Lookup) -> Collection[JobId]:
        if (id := named_id(request)) is not None:
            return (id,)
        name, of_group = _name(request), isinstance(request, GetMember)
        task = array_of(name)
        names = [name] if task is None else [name, task[0]]
        return [job for each in names for job in self._by_name.get((owner, each, of_group), ())]


def _name(request: Lookup) -> str:
    return (request.group if isinstance(request, GetMember) else request.pair) or ""


def _has(of: Mateless, request: Lookup) -> bool:
    """Return whether it is an array that has the task that is asked for, though it may not be known yet."""
    task = array_of(_name(request))
    return task is not None and of.tasks is not None and task[1] in of.tasks


def _key(of: Mateless) -> Key:
    return of.owner, of.name, of.of_group
