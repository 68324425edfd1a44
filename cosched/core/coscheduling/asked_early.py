"""The pairs and groups that jobs of peers have asked for before the jobs here were submitted."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import NamedTuple

from cosched.core.protocol import Domain, JobId, array_of

MOST = 10_000  # of one peer; those that were not asked for the longest are forgotten first


class PairName(NamedTuple):
    """The pair, or group, of this name of this owner, as he is called here."""

    owner: str
    name: str


@dataclass(slots=True)
class AskedEarly:
    """Of one peer: one pair of each calling job at most, the last one that it has asked for; or one group."""

    _pairs: dict[JobId, PairName] = field(default_factory=dict)  # by caller, in the order of their last questions
    _callers: dict[PairName, JobId] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._pairs)

    def note(self, caller: JobId, pair: PairName) -> None:
        """The job has asked for this pair."""
        if self._pairs.get(caller) == pair:  # as before: only its place in the order is another
            self._pairs[caller] = self._pairs.pop(caller)
            return
        self._forget(caller)
        self.take(pair)
        self._pairs[caller], self._callers[pair] = pair, caller
        if len(self._pairs) > MOST:
            self._forget(next(iter(self._pairs)))

    def take(self, pair: PairName) -> JobId | None:
        """Return the job that has asked for this pair, and forget that; None: none has."""
        caller = self._callers.get(pair)
        if caller is not None:
            self._forget(caller)
        return caller

    def take_others(self, of: PairName, tasks: Collection[int]) -> list[JobId]:
        """Return the jobs that have asked for other tasks of an array of this name, and forget that."""
        asked = [(pair, caller, array_of(pair.name)) for pair, caller in self._callers.items()]
        others = [
            caller for pair, caller, task in asked if task and (pair.owner, task[0]) == of and task[1] not in tasks
        ]
        for caller in others:
            self._forget(caller)
        return others

    def _forget(self, caller: JobId) -> None:
        pair = self._pairs.pop(caller, None)
        if pair is not None:
            del self._callers[pair]


@dataclass(slots=True)
class EarlyCallers:
    """Those of all peers, of pairs (False) and of groups (True); empty until a peer asks for a job that is not here."""

    asked: dict[tuple[Domain, bool], AskedEarly] = field(default_factory=dict)

    def note(self, peer: Domain, caller: JobId, name: PairName, *, of_group: bool = False) -> None:
        """The peer's job has asked for this pair, or group."""
        if (asked := self.asked.get((peer, of_group))) is None:
            asked = self.asked[peer, of_group] = AskedEarly()
        asked.note(caller, name)

    def take(self, peer: Domain, name: PairName, *, of_group: bool = False) -> JobId | None:
        """Return the peer's job that has asked for it, and forget that; None: none has."""
        asked = self.asked.get((peer, of_group))
        return None if asked is None else asked.take(name)

    def take_others(self, peer: Domain, of: PairName, tasks: Collection[int], *, of_group: bool) -> list[JobId]:
        """Return the peer's jobs that have asked for other tasks of an array of this name, and forget that."""
        asked = self.asked.get((peer, of_group))
        return [] if asked is None else asked.take_others(of, tasks)
