"""Scripted events of a replay, for what-if runs (`--script FILE`).

`cosched replay --help` lists them, one a line. Times are trace seconds, or have a suffix (90m, 12h, 3d); `#` begins a
comment. On nodes that go down running jobs fail and holding ones are queued again: holding first, then the latest.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from cosched.core.settings import Scheme
from cosched.validation.durations import parse_seconds
from cosched.validation.schemes import SchemeChoice
from cosched.words.errors import InputError


class Action(StrEnum):
    """What a script can do; MEND is the end of a CUT."""

    CANCEL = "cancel"
    FAIL = "fail"
    REQUEUE = "requeue"
    UNLINK = "unlink"
    REPLACE = "replace"
    DOWN = "down"
    DRAIN = "drain"
    UP = "up"
    SCHEME = "scheme"
    CUT = "cut"
    MEND = "mend"


@dataclass(frozen=True, slots=True)
class ScriptedEvent:
    """One event at instant `time`; the action says which other fields are set; rows are those in the workload."""

    time: int
    action: Action
    domain: str
    row: int = 0
    nodes: int = 0
    scheme: str = ""
    peer: str = ""
    final: bool = False
    new: int = 0  # the row of the job that takes the place


@dataclass(frozen=True, slots=True)
class ScriptedDomain:
    """What a script may refer to: a domain's job ids (as text) with their rows, its nodes, and whether pairs meet.

    `paired`: the rows of jobs that have mates. `only_jobs`: its scheduler, if that lets nothing else be changed.
    """

    rows: Mapping[str, int]
    nodes: int
    meets: bool = False
    paired: Collection[int] = ()
    only_jobs: str = ""


def read_script(script: str, domains: Mapping[str, ScriptedDomain]) -> list[ScriptedEvent]:
    """Return the events of a script, a file's name or the lines themselves, in order; InputError names the line."""
    source, text = ("script", script) if is_text(script) else (script, _text(script))
    events: list[ScriptedEvent] = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split("#", 1)[0].split()
        if words:
            try:
                events += _parse(words, domains)
            except ValueError as error:
                raise InputError(source, number, str(error)) from None
    return events


def told(events: Sequence[ScriptedEvent], ids: Mapping[str, Sequence[object]]) -> list[dict[str, Any]]:
    """Return the events as a summary lists them; `ids` are the job ids of each domain, by row."""
    return [
        {"time_s": event.time, "action": event.action.value, "domain": event.domain, **_told(event, ids)}
        for event in sorted(events, key=lambda event: event.time)
    ]


def of_no_effect(event: ScriptedEvent, ids: Mapping[str, Sequence[object]]) -> str:
    """Return what to say of an event about a job that was not in a state for it."""
    why = {
        Action.CANCEL: "it had ended",
        Action.FAIL: "it did not run",
        Action.REQUEUE: "it did not run",
        Action.UNLINK: "it did not wait",
        Action.REPLACE: "it, or the other one, had started, or changed places before",
    }
    told = f"{event.action} {event.domain} {ids[event.domain][event.row]}"
    return f"script: at {event.time} s: {told}: {why[event.action]}, so nothing happened"


def _told(event: ScriptedEvent, ids: Mapping[str, Sequence[object]]) -> dict[str, Any]:
    if event.action in OF_JOBS:
        final = {"final": True} if event.final else {}
        new = {"new_job_id": str(ids[event.domain][event.new])} if event.action is Action.REPLACE else {}
        return {"job_id": str(ids[event.domain][event.row]), **final, **new}
    if event.action is Action.SCHEME:
        return {"scheme": event.scheme}
    return {"peer": event.peer} if event.peer else {"nodes": event.nodes}


def is_text(script: str) -> bool:
    """Return whether `script` holds the lines of a script, not the name of a file."""
    return "\n" in script


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a text file"
        raise InputError(path, None, str(reason)) from None


def _parse(words: list[str], domains: Mapping[str, ScriptedDomain]) -> list[ScriptedEvent]:
    if len(words) < 2 or words[1] not in ARGUMENTS:
        raise ValueError(f"TIME ACTION ... expected; the actions are {', '.join(ARGUMENTS)}")
    names, build = ARGUMENTS[words[1]]
    if len(words) not in (2 + len(names), 2 + len([name for name in names if name[0] != "["])):
        raise ValueError(f"TIME {words[1]} {' '.join(names)} expected")
    if words[2] not in domains:
        raise ValueError(f"no domain {words[2]!r}; there are {', '.join(domains)}")
    if (why := domains[words[2]].only_jobs) and words[1] not in OF_JOBS:
        raise ValueError(_only_jobs(words[2], why, words[1]))
    return build(parse_seconds(words[0]), words[1], words[2:], domains)


def _only_jobs(domain: str, scheduler: str, action: str) -> str:
    return f"{domain} has {scheduler}: a script can change its jobs, but there is no {action}"


def _of_job(time: int, action: str, words: list[str], domains: Mapping[str, ScriptedDomain]) -> list[ScriptedEvent]:
    domain, job, *final = words
    if final not in ([], ["final"]):
        raise ValueError(f"{final[0]!r} is not 'final'")
    row = _row(domain, job, domains)
    if action == Action.UNLINK and row not in domains[domain].paired:
        raise ValueError(f"{domain}'s job {job} has no mate")
    return [ScriptedEvent(time, Action(action), domain, row=row, final=bool(final))]


def _replace(time: int, action: str, words: list[str], domains: Mapping[str, ScriptedDomain]) -> list[ScriptedEvent]:
    domain, *jobs = words
    row, new = (_row(domain, job, domains) for job in jobs)
    if row not in domains[domain].paired:
        raise ValueError(f"{domain}'s job {jobs[0]} has no mate, so nobody takes its place")
    if new in domains[domain].paired:
        raise ValueError(f"{domain}'s job {jobs[1]} has a mate, so it takes nobody's place")
    return [ScriptedEvent(time, Action(action), domain, row=row, new=new)]


def _row(domain: str, job: str, domains: Mapping[str, ScriptedDomain]) -> int:
    if job not in domains[domain].rows:
        raise ValueError(f"no job {job!r} in {domain}")
    return domains[domain].rows[job]


def _nodes(time: int, action: str, words: list[str], domains: Mapping[str, ScriptedDomain]) -> list[ScriptedEvent]:
    domain, text = words
    if not text.isdecimal() or not 0 < int(text) <= domains[domain].nodes:
        raise ValueError(f"{text!r} is not a number of nodes of {domain}, 1 to {domains[domain].nodes}")
    return [ScriptedEvent(time, Action(action), domain, nodes=int(text))]


def _scheme(time: int, action: str, words: list[str], domains: Mapping[str, ScriptedDomain]) -> list[ScriptedEvent]:
    domain, scheme = words
    if scheme == SchemeChoice.MEET or domains[domain].meets:
        raise ValueError(f"{domain}: a domain meets for a whole replay or not at all; replay it twice instead")
    if scheme not in list(Scheme):
        raise ValueError(f"{scheme!r} is not one of {', '.join(Scheme)}")
    return [ScriptedEvent(time, Action(action), domain, scheme=scheme)]


def _cut(time: int, action: str, words: list[str], domains: Mapping[str, ScriptedDomain]) -> list[ScriptedEvent]:
    domain, peer, duration = words
    if peer not in domains or peer == domain:
        raise ValueError(f"{peer!r} is not another domain")
    if domains[peer].only_jobs:
        raise ValueError(_only_jobs(peer, domains[peer].only_jobs, action))
    end = time + parse_seconds(duration)
    return [ScriptedEvent(time, Action(action), domain, peer=peer), ScriptedEvent(end, Action.MEND, domain, peer=peer)]


OF_JOBS = (Action.CANCEL, Action.FAIL, Action.REQUEUE, Action.UNLINK, Action.REPLACE)
Builder = Callable[[int, str, list[str], Mapping[str, ScriptedDomain]], list[ScriptedEvent]]

ARGUMENTS: dict[str, tuple[tuple[str, ...], Builder]] = {
    "cancel": (("DOMAIN", "JOB_ID", "[final]"), _of_job),
    "fail": (("DOMAIN", "JOB_ID"), _of_job),
    "requeue": (("DOMAIN", "JOB_ID"), _of_job),
    "unlink": (("DOMAIN", "JOB_ID"), _of_job),
    "replace": (("DOMAIN", "JOB_ID", "NEW"), _replace),
    "down": (("DOMAIN", "NODES"), _nodes),
    "drain": (("DOMAIN", "NODES"), _nodes),
    "up": (("DOMAIN", "NODES"), _nodes),
    "scheme": (("DOMAIN", "|".join(Scheme)), _scheme),
    "cut": (("DOMAIN", "DOMAIN", "DURATION"), _cut),
}
