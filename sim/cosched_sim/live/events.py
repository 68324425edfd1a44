"""The events of a replay by services, as a simulation tells them (`story`): its lines of events.jsonl.

Services know jobs by their numbers in the trace, a simulation by their ids there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from cosched.core.job import WAITING, JobState
from cosched.core.protocol import Domain
from cosched.core.story import What
from cosched.schedulers.batch import BATCH
from cosched_sim.domain_setup import DomainSetup
from cosched_sim.federation.player import Results
from cosched_sim.playing import is_alone
from cosched_sim.story import StoryLog, of_unpaired
from cosched_sim.what_if import WhatIf
from cosched_sim.workload.jobs import UNKNOWN
from cosched_sim.workload.pairing import Pairing

OF_OWN_JOB = ("caller", "gave_to")
OF_PEERS_JOB = ("mate", "member")
NAMES = ("request_id", "request", "proposal", "slot")  # DOMAIN/JOB/NUMBER, as the domain of the job has named it
NAME = re.compile(r"(.+)/(\d+)/(\d+)")


class LiveEvents:
    """Makes one story of those of all domains."""

    def __init__(self, setups: Sequence[DomainSetup], pairing: Pairing, script: WhatIf) -> None:
        self._setups = {setup.name: setup for setup in setups}
        self._ids = {setup.name: list(map(str, setup.workload.job_id.tolist())) for setup in setups}
        members = zip(setups, pairing.members(len(setups)), strict=True)
        self._paired = {setup.name: set(rows) for setup, rows in members}
        for name, row in script.joining:
            self._paired[name].add(row)
        self._alone = [setup.name for setup in setups if is_alone(setup, pairing, script)]
        self._row_of_pair = [str(group.row) for group in pairing.rows]  # services number them without gaps

    def of(self, told: Mapping[Domain, Results]) -> list[dict[str, Any]]:
        """Return all events in time order."""
        story = StoryLog()
        happened = ((name, event) for name, results in told.items() for event in results.events)
        for name, event in sorted(happened, key=lambda each: each[1]["at"]):
            if name not in self._alone:
                self._tell(story, name, event)
        unpaired = chain.from_iterable(self._unpaired(name, results) for name, results in told.items())
        alone = StoryLog()
        for name in self._alone:
            for event in told[name].events:
                self._tell(alone, name, event)
        return sorted([*story.events, *unpaired, *alone.events], key=lambda event: event["time"])

    def _unpaired(self, name: Domain, told: Results) -> Iterator[dict[str, Any]]:
        """Yield those of jobs without mates of a batch domain."""
        setup = self._setups[name]
        if setup.kind is not BATCH:
            return
        columns = (setup.workload.submit, *(told.jobs[column] for column in ("start", "end", "state")))
        for row, (submit, start, end, state) in enumerate(zip(*(each.tolist() for each in columns), strict=True)):
            if row not in self._paired[name]:
                last = UNKNOWN if JobState(state) in WAITING else told.restarts.get(row, start)
                yield from of_unpaired(name, self._ids[name][row], submit, last, end, JobState(state))

    def _tell(self, story: StoryLog, name: Domain, event: Mapping[str, Any]) -> None:
        row, what, detail, kind = int(event["job"]) - 1, event["event"], event["detail"], self._setups[name].kind
        if kind is BATCH and (row not in self._paired[name] or _is_untold(event)):
            return
        if kind is not BATCH and not event.get("linked", True):
            detail = {}
        if what == What.STARTED and kind.capabilities.other_sizes:
            detail = {**detail, "nodes": event["nodes"]}
        story(event["at"][0], name, self._ids[name][row], what, dict(self._known(name, detail)))

    def _known(self, name: Domain, detail: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
        """Yield the detail with jobs, pairs and calls as a simulation knows them."""
        called = detail.get("to")
        peer = called or detail.get("peer")
        for key, value in detail.items():
            if value is None:
                yield key, value
            elif key in OF_OWN_JOB:
                yield key, self._id(name, value)
            elif key in OF_PEERS_JOB or key == "job":
                yield key, self._id(peer, value)
            elif key == "answer":
                yield key, {of: self._id(called, said) if of == "job" and said else said for of, said in value.items()}
            elif key in NAMES and isinstance(value, str):
                yield key, self._named(value)
            elif key == "pair":
                yield key, self._row_of_pair[int(value) - 1]
            elif key == "was":
                yield key, f"{peer}:{self._id(peer, value.rpartition(':')[2])}"
            elif key == "owner":
                yield key, ""  # a simulation knows no owners
            else:
                yield key, value

    def _id(self, name: Any, number: str) -> str:
        return self._ids[name][int(number) - 1]

    def _named(self, call: str) -> str:
        match = NAME.fullmatch(call)
        return call if match is None else f"{match[1]}/{self._id(match[1], match[2])}/{match[3]}"


def _is_untold(event: Mapping[str, Any]) -> bool:
    """Return whether the compiled world does not tell this: that the job of a pair has heard its mate's id."""
    of_pair = event["event"] == What.LINKED and event["of_pair"]
    return bool(of_pair) and event["detail"].keys() == {"mate", "peer"}
