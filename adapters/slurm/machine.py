"""What a profile of a cluster is made of: its nodes, and all its jobs with their nodes. Nothing is run here.

None of the fields that are printed is a text of a user's; what separates them is in no name of Slurm's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from cosched.adapters.batch_system import NodeState
from cosched.adapters.manager import ManagerError
from cosched.adapters.slurm.commands import number, seconds
from cosched.adapters.slurm.hostlists import expand

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
    "tres": "%b",
    "licenses": "%W",
}
_WISHES = ("required", "excluded", "features", "tres", "licenses")
_ACTIVE = "PENDING,CONFIGURING,RUNNING,SUSPENDED,COMPLETING,RESIZING,SIGNALING,STAGE_OUT,STOPPED"
_NONE = ("", "(null)", "N/A", "NONE")
KEPT_BACK = (  # a reason that begins so is not a lack of nodes
    "JobHeld", "Dependency", "BeginTime", "Reservation", "Cleaning", "JobArrayTaskLimit", "Licenses", "BadConstraints",
    "Partition", "Assoc", "QOS", "Account", "Invalid",
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
    wishes: bool  # it asks for certain nodes, features, devices or licenses: we cannot tell where it may run
    count: int  # of nodes
    priority: int
    submitted: int
    limit: int  # 0: none
    end: int | None  # when Slurm will end it at the latest; None: it has no nodes, or no limit
    partitions: tuple[str, ...]
    reservation: str | None
    nodes: frozenset[str]


def jobs() -> list[str]:
    """Show all jobs that wait or have nodes; for `parse_jobs`."""
    return ["squeue", "-h", "-a", "--noconvert", "-t", _ACTIVE, "-o", _SEPARATOR.join(_FIELDS.values())]


def nodes() -> list[str]:
    """Show all nodes with their partitions and states; for `parse_nodes`."""
    return ["sinfo", "-h", "-a", "-N", "-o", "%N %R %T"]


def default_partition() -> list[str]:
    """Show the names of all partitions; for `parse_default`."""
    return ["sinfo", "-h", "-a", "-o", "%P"]


def parse_default(printed: bytes) -> str | None:
    """Return the partition of jobs that name none; None: there is none."""
    names = printed.decode("utf-8", "surrogateescape").split()
    return next((name.removesuffix("*") for name in names if name.endswith("*")), None)


def parse_jobs(printed: bytes) -> list[MachineJob]:
    """Parse what `jobs` shows, with times in seconds since 1970. ManagerError."""
    lines = printed.decode("utf-8", "surrogateescape").splitlines()
    return [_job(line) for line in lines]


def parse_states(printed: bytes) -> dict[str, NodeState]:
    """Return the states of all nodes, of what `nodes` shows. A node that jobs share is busy."""
    return {node: _state_of(state) for node, _, state in _nodes(printed)}


def _state_of(state: str) -> NodeState:
    plain = state.rstrip("+-")  # a node that Slurm has planned for a job may still be had for a while
    if plain in ("idle", "planned"):
        return NodeState.IDLE
    return NodeState.BUSY if plain in _USABLE else NodeState.DOWN


def _nodes(printed: bytes) -> Iterator[list[str]]:
    for line in printed.decode("utf-8", "surrogateescape").splitlines():
        words = line.split()
        if len(words) != len(("node", "partition", "state")):
            raise ManagerError(f"sinfo printed {line[:200]!a}, not a node, its partition and its state")
        yield words


def parse_nodes(printed: bytes) -> dict[str, frozenset[str]]:
    """Return the nodes of each partition on which Slurm can start jobs, now or after those that run there."""
    found: dict[str, set[str]] = {}
    for node, partition, state in _nodes(printed):
        usable = found.setdefault(partition, set())
        if state.rstrip("+-") in _USABLE:  # other signs: it does not answer, is powered down, is about to reboot
            usable.add(node)
    return {partition: frozenset(usable) for partition, usable in found.items()}


def nodes_of(names: Iterable[str], partitions: Mapping[str, Iterable[str]]) -> frozenset[str]:
    """Return the usable nodes of all partitions of these names."""
    return frozenset().union(*(partitions.get(name, ()) for name in names))


def _job(line: str) -> MachineJob:
    values = line.split(_SEPARATOR)
    if len(values) != len(_FIELDS):
        raise ManagerError(f"squeue printed {line[:200]!a}, not a job's {len(_FIELDS)} fields")
    fields = {name: "" if value in _NONE else value for name, value in zip(_FIELDS, values, strict=True)}
    queued, reason = fields["state"] == "PENDING", fields["reason"]
    held = fields["priority"] == "0"
    return MachineJob(
        job_id=fields["job_id"],
        queued=queued,
        kept_back=queued and (reason.startswith(KEPT_BACK) or held),
        delayed=queued and reason.startswith(_DELAYED) and not held,
        wishes=any(fields[name] for name in _WISHES),
        count=number(fields["count"]),
        priority=number(fields["priority"]),
        submitted=number(fields["submitted"]),
        limit=seconds(fields["limit"]),
        end=None if queued else number(fields["end"]) or None,
        partitions=tuple(fields["partitions"].split(",")),
        reservation=fields["reservation"] or None,
        nodes=frozenset(expand(fields["nodes"])) if not queued else frozenset(),
    )
