"""What a profile of a cluster is made of: its nodes, and all its jobs with their nodes. Nothing is run here.

None of the fields that are printed is a text of a user's; what separates them is in no name of Slurm's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from cosched_adapters.batch_system import NodeState
from cosched_adapters.manager import ManagerError
from cosched_adapters.slurm.commands import checked, number, seconds
from cosched_adapters.slurm.hostlists import expand
from cosched_adapters.slurm.wants import Node, Wants, node_of, wants

_SEPARATOR = "\x1f"
_FIELDS = {  # of squeue --format
    "job_id": "%A",
    "state": "%T",
    "reason": "%r",
    "count": "%D",
    "priority": "%Q",
    "end": "%e",
    "limit": "%l",
    "submitted": "%V",
    "partitions": "%P",
    "reservation": "%v",
    "nodes": "%N",
    "required": "%n",
    "excluded": "%x",
    "features": "%f",
    "per_node": "%b",
    "licenses": "%W",
}
_COUNTS = {  # of squeue --Format, which has no excluded nodes; without a width values are printed as they are
    "tres": "tres-alloc",
    "per_job": "tres-per-job",
    "per_task": "tres-per-task",
    "per_socket": "tres-per-socket",
    "tasks": "NumTasks",
    "cpus": "NumCPUs",
    "memory": "MinMemory",
}
_SHARING = {False: "OverSubscribe:0", True: "Exclusive:0-exclusive"}  # whether it shares nodes; since 26.05, as `wants`
_COUNTED = (*_COUNTS, "sharing")
NODES = ["sinfo", "-h", "-a", "-N", "-o", "%N %R %T %c %m %b %G"]  # their partitions, states, and what they have
_ACTIVE = "PENDING,CONFIGURING,RUNNING,SUSPENDED,COMPLETING,RESIZING,SIGNALING,STAGE_OUT,STOPPED"
_SQUEUE = ("squeue", "-h", "-a", "--noconvert", "-t", _ACTIVE)
_NONE = ("", "(null)", "N/A", "NONE")
KEPT_BACK = (  # reasons that begin so do not mean a lack of nodes or licences
    "JobHeld", "Dependency", "BeginTime", "Reservation", "Cleaning", "JobArrayTaskLimit", "BadConstraints", "Partition",
    "Assoc", "QOS", "Account", "Invalid",
)  # fmt: skip
_DELAYED = ("BeginTime", "Reservation")
_USABLE = ("allocated", "completing", "idle", "mixed", "planned", "reserved")


@dataclass(frozen=True, slots=True)
class MachineJob:
    """A job that waits or has nodes; times are in seconds, or seconds since 1970."""

    job_id: str
    queued: bool
    kept_back: bool  # it is queued, but waits for something else than nodes
    delayed: bool  # of these: it waits for its begin time, or for a reservation
    wants: Wants
    count: int  # of nodes
    priority: int
    submitted: int
    limit: int  # 0: none
    end: int | None  # when Slurm will end it at the latest; None: it has no nodes, or no limit
    partitions: tuple[str, ...]
    reservation: str | None
    nodes: frozenset[str]


def jobs(arrays: Iterable[str] = ()) -> list[str]:
    """Show all jobs that wait or have nodes, or each task of some arrays; for `parse_jobs`."""
    return [*_SQUEUE, *_tasks_of(arrays), "-o", _SEPARATOR.join(_FIELDS.values())]


def _tasks_of(arrays: Iterable[str]) -> list[str]:
    ids = ",".join(map(checked, arrays))
    return ["-r", "-j", ids] if ids else []


def counts(arrays: Iterable[str] = (), *, exclusive: bool = False) -> list[str]:
    """Show what these jobs ask for in numbers; for `parse_jobs`. `exclusive`: as of `versions.shows_exclusive`."""
    fields = [*(f"{field}:0" for field in ("JobID", *_COUNTS.values())), _SHARING[exclusive]]
    return [*_SQUEUE, *_tasks_of(arrays), "-O", ",".join(f"{field}{_SEPARATOR}" for field in fields)]


def parse_default(printed: bytes) -> str | None:
    """Return the partition of jobs that name none, of all partitions' names; None: there is none."""
    names = printed.decode("utf-8", "surrogateescape").split()
    return next((name.removesuffix("*") for name in names if name.endswith("*")), None)


def parse_jobs(printed: bytes, counted: bytes = b"", share: frozenset[str] = frozenset()) -> list[MachineJob]:
    """Parse what `jobs` and `counts` show, with times in seconds since 1970; `share` as of `wants.shared`.

    A job that has come between the two looks counts as one that wants whole nodes. What is shown later of a job counts.
    ManagerError.
    """
    numbers = {values[0]: dict(zip(_COUNTED, values[1:], strict=False)) for values in map(_values, _lines(counted))}
    none = dict.fromkeys(_COUNTED, "")
    rows = {row["job_id"]: row for row in map(_fields, _lines(printed))}
    return [_job(row | numbers.get(job_id, none), share) for job_id, row in rows.items()]


def parse_licences(printed: bytes) -> dict[str, int]:
    """Return how many of each licence the cluster has."""
    rows = (dict(word.partition("=")[::2] for word in line.split()) for line in _lines(printed))
    return {row["LicenseName"]: number(row.get("Total", "")) for row in rows if "LicenseName" in row}


def parse_states(printed: bytes) -> dict[str, NodeState]:
    """Return the states of all nodes, of what NODES shows. A node that jobs share is busy."""
    return {node: _state_of(state) for node, _, state, *_ in _nodes(printed)}


def parse_rooms(printed: bytes) -> dict[str, Node]:
    """Return what the nodes have, of what NODES shows. ManagerError."""
    return {node: node_of(*room) for node, _, _, *room in _nodes(printed)}


def _state_of(state: str) -> NodeState:
    plain = state.rstrip("+-")  # a node that Slurm has planned for a job may still be had for a while
    if plain in ("idle", "planned"):
        return NodeState.IDLE
    return NodeState.BUSY if plain in _USABLE else NodeState.DOWN


def _nodes(printed: bytes) -> Iterator[list[str]]:
    for line in _lines(printed):
        words = ["" if word in _NONE else word for word in line.split()]
        if len(words) != len(NODES[-1].split()) or not (words[3] + words[4]).isdigit():
            raise ManagerError(f"sinfo printed {line[:200]!a}, not a node, its partition, its state and what it has")
        yield words


def parse_nodes(printed: bytes) -> dict[str, frozenset[str]]:
    """Return the nodes of each partition on which Slurm can start jobs, now or after those that run there."""
    found: dict[str, set[str]] = {}
    for node, partition, state, *_ in _nodes(printed):
        usable = found.setdefault(partition, set())
        if state.rstrip("+-") in _USABLE:  # other signs: it does not answer, is powered down, is about to reboot
            usable.add(node)
    return {partition: frozenset(usable) for partition, usable in found.items()}


def nodes_of(names: Iterable[str], partitions: Mapping[str, Iterable[str]]) -> frozenset[str]:
    """Return the usable nodes of all partitions of these names."""
    return frozenset().union(*(partitions.get(name, ()) for name in names))


def _lines(printed: bytes) -> list[str]:
    return printed.decode("utf-8", "surrogateescape").splitlines()


def _values(line: str) -> list[str]:
    return ["" if value in _NONE else value for value in line.split(_SEPARATOR)]


def _fields(line: str) -> dict[str, str]:
    values = _values(line)
    if len(values) != len(_FIELDS):
        raise ManagerError(f"squeue printed {line[:200]!a}, not a job's {len(_FIELDS)} fields")
    return dict(zip(_FIELDS, values, strict=True))


def _job(fields: dict[str, str], share: frozenset[str]) -> MachineJob:
    queued, reason = fields["state"] == "PENDING", fields["reason"]
    held, count = fields["priority"] == "0", number(fields["count"])
    return MachineJob(
        job_id=fields["job_id"],
        queued=queued,
        kept_back=queued and (reason.startswith(KEPT_BACK) or held),
        delayed=queued and reason.startswith(_DELAYED) and not held,
        wants=wants(fields, count, share, queued=queued),
        count=count,
        priority=number(fields["priority"]),
        submitted=number(fields["submitted"]),
        limit=seconds(fields["limit"]),
        end=None if queued else number(fields["end"]) or None,
        partitions=tuple(fields["partitions"].split(",")),
        reservation=fields["reservation"] or None,
        nodes=frozenset(expand(fields["nodes"])) if not queued else frozenset(),
    )
