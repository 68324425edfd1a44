"""PBS's commands, and what they print, as pure functions. Jobs are numbers here: PBS adds the server's name."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from cosched_adapters.manager import ManagerError, UnavailableError, UnknownJobError
from cosched_adapters.mate_fields import RESOURCES
from cosched_adapters.pbs.printed_json import members
from cosched_adapters.programs import meaning

HOLDER = "cosched_holder"  # the custom resource of a node that is held: for which job, and the job's part of it
UNKNOWN_JOBS = 153  # exit code of qstat: it does not know some of the jobs
FINISHED_JOB = 35
NO_PROJECT = "_pbs_project_default"  # of jobs that name none
_JOB = re.compile(r"([1-9][0-9]{0,11}|0)(?:\[[0-9,-]*\])?(?:\.[!-~]+)?")
_CHUNK = re.compile(r"([^():+]+):([^()+]*)")
_TRUE = ("True", "1")
_MOST_SAID = 200  # characters of an error message


class UnknownObjectError(ManagerError):
    """The server has no such hook or resource."""


_MEANINGS = {  # of what the message of a failed command contains
    UnknownJobError: ("Unknown Job Id", "Job has finished"),
    UnknownObjectError: ("hook not found", "does not exist!", "Unknown resource"),
    UnavailableError: (
        "cannot connect to server", "could not connect to server", "Connection refused", "No route", "timed out",
    ),
}  # fmt: skip  # fmt: skip


@dataclass(frozen=True, slots=True)
class JobRow:
    """A job as qstat shows it; instants in seconds since 1970."""

    job_id: str
    name: str
    owner: str
    state: str  # Q, R, H, W, E, F, ...
    substate: int
    nodes: int
    walltime: int  # seconds; 0: none
    submitted_at: int
    resources: Mapping[str, str]  # those that name a mate
    array: bool
    vnodes: str = ""  # exec_vnode
    started_at: int | None = None
    ended_at: int | None = None
    exit_code: int | None = None
    expected: int | None = None  # when the scheduler expects to start it
    comment: str = ""  # why it waits, in the scheduler's words
    queue: str = ""
    account: str = ""  # empty: none
    rerunnable: bool = True  # not with qsub -r n


@dataclass(frozen=True, slots=True)
class NodeRow:
    """A node as pbsnodes shows it."""

    name: str
    states: tuple[str, ...]
    holder: str
    comment: str
    processors: int
    assigned: int = 0  # of these, that jobs have


def job_number(text: str) -> str:
    """Return the number of a job's id, such as 17 of "17.mira" or of "17[2].mira". ValueError."""
    match = _JOB.fullmatch(text)
    if match is None:
        raise ValueError(f"not the id of a PBS job: {text[:64]!a}")
    return match[1]


def account(name: str, project: str) -> str:
    """Return the account that a job is charged to: its Account_Name, else its project; empty: none."""
    return name or ("" if project == NO_PROJECT else project)


def is_array(text: str) -> bool:
    """Return whether this id is that of a job array or of its subjob."""
    return "[" in text


# Commands

QUEUE = ["qstat", "-f", "-F", "json"]  # all jobs that have not ended
NODES = ["pbsnodes", "-a", "-v", "-F", "json"]
SERVER = ["qstat", "-B", "-f", "-F", "json"]
SCHEDULE = ["qmgr", "-c", "set server scheduling = true"]  # begin a scheduling cycle now


def history(*job: str) -> list[str]:
    """Return a job (none given: all), also if it has ended."""
    return ["qstat", "-x", "-f", "-F", "json", *job]


def run(job: str, vnodes: str) -> list[str]:
    """Start a job on these nodes, whatever the scheduler says."""
    return ["qrun", "-H", vnodes, job]


def alter(job: str, resources: Mapping[str, str]) -> list[str]:
    """Change a queued job's resources; an empty value removes one."""
    return ["qalter", *(f"-l{resource(name, value)}" for name, value in resources.items()), job]


def resource(name: str, value: str) -> str:
    """Return a resource as -l takes it: there a comma would end the value."""
    return f'{name}="{value}"' if "," in value else f"{name}={value}"


def take_offline(nodes: Sequence[str], holder: str) -> list[str]:
    """Take nodes offline, and note for whom."""
    return ["qmgr", "-c", f'set node {",".join(nodes)} resources_available.{HOLDER} = "{holder}", state += offline']


def disown(nodes: Sequence[str]) -> list[str]:
    """Remove the note for whom these nodes are held."""
    return ["qmgr", "-c", f"unset node {','.join(nodes)} resources_available.{HOLDER}"]


def put_online(nodes: Sequence[str]) -> list[str]:
    """Let jobs have these nodes again."""
    return ["qmgr", "-c", f"set node {','.join(nodes)} state -= offline"]


def listed(kind: str, name: str = "") -> list[str]:
    """Return one object of the server, or all of a kind."""
    return ["qmgr", "-c", f"list {kind} {name}".rstrip()]


# What they print


def parse_jobs(printed: bytes) -> list[JobRow]:
    """Return the jobs that qstat has printed. ManagerError."""
    return list(each_job(printed))


def each_job(printed: bytes) -> Iterator[JobRow]:
    """Yield what `parse_jobs` returns; of a long queue that takes a while."""
    try:
        for id, fields in members(printed.decode(), "Jobs") if printed else ():
            if _JOB.fullmatch(id):
                yield _job(id, fields)
    except ValueError as error:
        raise _no_json(error) from None


def parse_nodes(printed: bytes) -> list[NodeRow]:
    """Return the nodes that jobs can use: a MoM's own vnode has no processors if it has others. ManagerError."""
    rows = (_node(name, fields) for name, fields in section(printed, "nodes").items())
    return [row for row in rows if row.processors > 0]


def parse_listed(printed: bytes) -> dict[str, dict[str, str]]:
    """Return the attributes of the objects that `qmgr -c list` has printed, by name."""
    found: dict[str, dict[str, str]] = {}
    attributes: dict[str, str] = {}
    for line in printed.decode(errors="replace").replace("\n\t", "").splitlines():  # a TAB continues a long value
        key, equals, value = line.strip().partition(" = ")
        if line[:1].isalpha() and len(words := line.split()) == 2:
            attributes = found.setdefault(words[1], {})
        elif equals:
            attributes[key] = value
    return found


def chunks(vnodes: str) -> dict[str, str]:
    """Return what a job has of each node of an exec_vnode, such as {"a1": "ncpus=2"}."""
    return {match[1]: match[2] for match in _CHUNK.finditer(vnodes)}


def joined(chunks: Mapping[str, str]) -> str:
    """Return the exec_vnode of these chunks."""
    return "+".join(f"({node}:{chunk})" for node, chunk in chunks.items())


def held_for(holder: str) -> tuple[str, str] | None:
    """Return the job for which a node is held, and the job's chunk; None: it is not held by us."""
    job, _, chunk = holder.partition(" ")
    return (job, chunk) if job.isascii() and job.isdecimal() and chunk else None


def failure(command: str, code: int, said: bytes) -> ManagerError:
    """Return the error for a command that has failed."""
    text = " ".join(said.decode(errors="replace").split())[:_MOST_SAID]
    return meaning(text, _MEANINGS)(f"{command}: {text or f'exit {code}'}")


def parse_object(printed: bytes) -> dict[str, Any]:
    """Return the JSON object that PBS has printed. ManagerError."""
    try:
        found = json.loads(printed or b"{}", strict=False)
    except ValueError as error:
        raise _no_json(error) from None
    return found if isinstance(found, dict) else {}


def _no_json(error: ValueError) -> ManagerError:
    return ManagerError(f"PBS has printed no JSON: {error}")


def section(printed: bytes, name: str) -> dict[str, Any]:
    """Return the objects of a kind that PBS has printed, by their names. ManagerError."""
    section = parse_object(printed).get(name, {})
    return section if isinstance(section, dict) else {}


def _job(id: str, fields: Mapping[str, Any]) -> JobRow:
    wanted = fields.get("Resource_List", {})
    resources = {str(name): _text(value) for name, value in wanted.items()} if isinstance(wanted, dict) else {}
    vnodes, estimated = _text(fields.get("exec_vnode", "")), fields.get("estimated")
    return JobRow(
        job_number(id),
        _text(fields.get("Job_Name", "")),
        _text(fields.get("Job_Owner", "")).partition("@")[0],
        _text(fields.get("job_state", "")),
        _number(fields.get("substate")) or 0,
        len(chunks(vnodes)) or _number(resources.get("nodect")) or 1,
        seconds(resources.get("walltime", "")),
        _instant(fields.get("qtime")) or _instant(fields.get("ctime")) or 0,
        {name: resources[name] for name in RESOURCES if name in resources},
        is_array(id),
        vnodes,
        _instant(fields.get("stime")),
        _instant(fields.get("obittime")) or _instant(fields.get("history_timestamp")),
        _number(fields.get("Exit_status")),
        _instant(estimated.get("start_time")) if isinstance(estimated, dict) else None,
        _text(fields.get("comment", "")),
        _text(fields.get("queue", "")),
        account(_text(fields.get("Account_Name", "")), _text(fields.get("project", ""))),
        _text(fields.get("Rerunable", "True")) in _TRUE,  # as PBS spells it
    )


def _node(name: str, fields: Mapping[str, Any]) -> NodeRow:
    available = fields.get("resources_available", {})
    states = tuple(_text(fields.get("state", "")).split(","))
    holder, processors = _text(available.get(HOLDER, "")), _number(available.get("ncpus"))
    assigned = fields.get("resources_assigned", {})
    used = _number(assigned.get("ncpus")) if isinstance(assigned, dict) else None
    return NodeRow(name, states, holder, _text(fields.get("comment", "")), processors or 0, used or 0)


def _text(value: object) -> str:
    """PBS writes texts that look like numbers as numbers, and a boolean sometimes so."""
    return str(value) if isinstance(value, str | int | float) else ""


def _number(value: object) -> int | None:
    try:
        return int(float(_text(value)))
    except (ValueError, OverflowError):
        return None


def _instant(value: object) -> int | None:
    """Return a date: PBS writes them as ctime(3) does, or as a number."""
    if isinstance(value, int) or (isinstance(value, str) and value.isdecimal()):
        return int(value)
    return _ctime(_text(value)) if value else None


@lru_cache(maxsize=1 << 14)
def _ctime(text: str) -> int | None:
    """Return an instant as ctime(3) writes it; each look has those of all jobs again, and to read them takes long."""
    try:
        return int(time.mktime(time.strptime(text, "%a %b %d %H:%M:%S %Y")))
    except (ValueError, OverflowError):
        return None


def seconds(text: str) -> int:
    """Return a duration: [[HH:]MM:]SS, or a number of seconds; 0 if there is none."""
    total = 0
    for part in text.partition(".")[0].split(":"):
        if not part.isdecimal():
            return 0
        total = 60 * total + int(part)
    return total
