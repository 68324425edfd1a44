"""The start of one pair, event by event, as docs/one-pair.md shows it.

python -m tests.core.one_pair    writes that page anew
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from cosched.core.coscheduling.coscheduler import Coscheduler
from cosched.core.coscheduling.ledger import PairedJob
from cosched.core.effects import Answer, Call, Record, Start
from cosched.core.events import Answered, Asked, Ready, Submitted
from cosched.core.kept import to_plain
from cosched.core.outcome import LastingDomain
from cosched.core.protocol import FOREVER, named_mate
from cosched.core.scheduling.batch.open_cluster import OpenCluster
from cosched.core.scheduling.policies.backfilling import BACKFILLING
from cosched.core.scheduling.policies.ordering import parse_ordering
from cosched.core.scheduling.scheduler import ClusterJob, ClusterSettings
from cosched.core.settings import CoschedulingSettings, Scheme

PAGE = Path(__file__).parents[2] / "docs" / "one-pair.md"
BEGIN, END = "```text\n", "```\n"
NODES = {"intrepid": 8, "eureka": 4}


class OneDomain:
    """A policy domain whose jobs have one node each."""

    def __init__(self, name: str) -> None:
        settings = CoschedulingSettings(scheme=Scheme.HOLD, release_jitter=Decimal(0), max_held_fraction=Decimal(1))
        machine = ClusterSettings(NODES[name], parse_ordering("fcfs"), BACKFILLING["easy"])
        self.name, self.now = name, 0
        self.core = Coscheduler(name, NODES[name], settings)
        self.policy = LastingDomain(self.core, OpenCluster(machine), lambda *_: None)
        self._kept: dict[str, Any] = {}
        self._wakes_at: float = FOREVER

    def submit(self, job: str, mate: str) -> tuple[list[str], list[Any]]:
        then = self.policy.handle(Submitted(job, named_mate(mate, "run7"), "ann"), self.now)
        self.policy.scheduler.submit(ClusterJob(job, 1, 3600, self.now, paired=True))
        return self._told(f"ann submits job {job}, pair run7 on {mate}", then)

    def hear(self, event: Asked | Answered) -> tuple[list[str], list[Any]]:
        what = event.request if isinstance(event, Asked) else event.answer
        said = "asks" if isinstance(event, Asked) else "answers"
        return self._told(f"{event.peer} {said}: {_call(what)}", self.policy.handle(event, self.now))

    def _told(self, happens: str, then: list[Any]) -> tuple[list[str], list[Any]]:
        """What happens, and what comes of it: in words, and to be carried out."""
        outcome = self.policy.settle(self.now, iterate=True)
        then = [*then, *outcome.then]
        lines = [f"{self.now:3} s  {self.name}: {happens}"]
        words = self._words(then, outcome.keep.jobs, outcome.wake_at)
        lines += [f"         {word:6} {said}" for word, said in words]
        return lines, [change for change in then if isinstance(change, Call | Answer)]

    def _words(self, then: Sequence[Any], changed: Iterable[str], wake_at: float) -> Iterator[tuple[str, str]]:
        yield from (told for change in then if (told := _noted(change)) is not None)
        for job in dict.fromkeys(changed):
            if (kept := _kept(self.core.jobs[job])) != self._kept.get(job):
                self._kept[job] = kept
                yield "keeps", f"job {job}: {', '.join(kept)}"
        yield from (told for change in then if (told := _left(change)) is not None)
        if wake_at != self._wakes_at:
            self._wakes_at = wake_at
            yield "timer", f"at {wake_at} s" if wake_at < FOREVER else "none"


def _noted(change: Any) -> tuple[str, str] | None:
    """What the rules decide."""
    if isinstance(change, Ready):
        return "core", f"job {change.job} is ready on {_nodes(change.allocation.nodes)} (RunJob)"
    if isinstance(change, Record):
        why = change.stored().get("why")
        return "core", f"job {change.job} {change.what}{f': {why}' if why else ''}"
    return None


def _left(change: Any) -> tuple[str, str] | None:
    """What leaves the domain once that is on record."""
    match change:
        case Call():
            return "calls", f"{change.peer}: {_call(change.request)}"
        case Answer():
            return "tells", f"{change.peer}: {_call(change.answer)}"
        case Start():
            return "starts", f"job {change.job}"
    return None


def _kept(job: PairedJob) -> list[str]:
    """What is on record of a job."""
    mate = f"mate {job.peer}:{job.mate or '?'}"
    plain = {name: value for name, value in to_plain(job).items() if name not in ("allocation", "hold_limit")}
    return [job.state.name.lower(), mate, *(f"{name} {_value(value)}" for name, value in plain.items())]


def _value(value: Any) -> str:
    return " ".join(value[:2]) if isinstance(value, list) else str(value).lower()  # a call: its kind and its id


def _call(message: Any) -> str:
    """A request or an answer, without what it has by default."""
    defaults = message._field_defaults
    said = {name: value for name, value in message._asdict().items() if value != defaults.get(name, None)}
    return f"{type(message).__name__}({', '.join(f'{name}={value}' for name, value in said.items())})"


def _nodes(count: int) -> str:
    return "1 node" if count == 1 else f"{count} nodes"


def trace() -> str:
    """The start of the pair, told in lines."""
    domains = {name: OneDomain(name) for name in NODES}
    lines: list[str] = []

    def follow(domain: OneDomain, told: tuple[list[str], list[Any]]) -> None:
        lines.extend([*told[0], ""])
        for change in told[1]:
            peer = domains[change.peer]
            if isinstance(change, Call):
                asked.append((domain, change))
                follow(peer, peer.hear(Asked(domain.name, change.request)))
            else:
                caller, call = asked.pop()
                follow(caller, caller.hear(Answered(call.job, call.request, change.answer, domain.name)))

    asked: list[tuple[OneDomain, Call]] = []
    for at, name, job, mate in ((0, "intrepid", "1", "eureka"), (60, "eureka", "5", "intrepid")):
        for domain in domains.values():
            domain.now = at
            domain.policy.scheduler.enter(at)
        follow(domains[name], domains[name].submit(job, mate))
    return "\n".join(lines).rstrip() + "\n"


def on_the_page() -> str:
    """The trace that the page has."""
    return PAGE.read_text().partition(BEGIN)[2].partition(END)[0]


if __name__ == "__main__":
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(before + BEGIN + trace() + END + rest.partition(END)[2])
