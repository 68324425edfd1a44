"""When PBS would start a job that comes now, from what pbsnodes and qstat print."""

from dataclasses import replace
from pathlib import Path

import pytest

from cosched_adapters.batch_system import Foreseen
from cosched_adapters.pbs import commands
from cosched_adapters.pbs.commands import JobRow, NodeRow
from cosched_adapters.pbs.prospects import foresee, state_of
from cosched_adapters.profile import LATE

RECORDED = Path(__file__).with_name("recorded")
NOW = 1000
NODES = [NodeRow(f"n{number}", ("free",), "", "", 4) for number in range(4)]


def job(number: int, nodes: int, walltime: int, vnodes: str = "", **fields: object) -> JobRow:
    """A job that waits, or that has these nodes since NOW - 10."""
    state, start = ("R", NOW - 10) if vnodes else ("Q", None)
    row = JobRow(str(number), "job", "ada", state, 0, nodes, walltime, 900, {}, array=False, vnodes=vnodes)
    return replace(row, started_at=start, **fields)  # type: ignore[arg-type]


def at(
    count: int, seconds: int, *queue: JobRow, names: tuple[str, ...] = (), nodes: list[NodeRow] = NODES
) -> int | None:
    found = foresee(count, seconds, names, nodes, queue, NOW)
    assert found.now == NOW
    return found.at


def test_recorded_nodes_and_jobs() -> None:
    """mira1 runs job 1 for an hour from 03:50:53; 3 and 4 are held for job 0, of a minute, which waits for its mate."""
    nodes = commands.parse_nodes((RECORDED / "nodes.json").read_bytes())
    queue = commands.parse_jobs((RECORDED / "queue.json").read_bytes())
    assert {node.name: state_of(node) for node in nodes} == {
        "mira1": "busy", "mira2": "idle", "mira3": "held", "mira4": "held",
    }  # fmt: skip
    [running] = [row for row in queue if row.job_id == "1"]
    assert running.started_at is not None
    now = running.started_at + 125
    found = [foresee(count, 300, (), nodes, queue, now).at for count in (1, 3, 4, 5)]
    assert found == [now, now + 60, running.started_at + 3600, None]


@pytest.mark.parametrize(
    ("states", "assigned", "told"),
    [
        (("free",), 0, "idle"),
        (("free",), 1, "busy"),  # jobs share it
        (("job-busy",), 4, "busy"),
        (("free", "busy"), 0, "busy"),
        (("offline",), 0, "down"),
        (("down",), 0, "down"),
        (("state-unknown", "down"), 0, "down"),
        (("job-exclusive", "offline"), 4, "down"),
    ],
)
def test_states_of_nodes(states: tuple[str, ...], assigned: int, told: str) -> None:
    assert state_of(NodeRow("n", states, "", "", 4, assigned)) == told


def test_what_runs_ends_at_its_walltime_and_what_waits_comes_first() -> None:
    two = job(1, 2, 100, "(n0:ncpus=4)+(n1:ncpus=1)")
    assert at(2, 60, two) == NOW
    assert at(3, 60, two) == NOW + 90
    assert at(1, 60, two, names=("n1",)) == NOW + 90
    assert at(3, 60, replace(two, walltime=5)) == NOW + LATE
    assert at(3, 60, replace(two, walltime=0)) is None
    waits = job(2, 3, 50)
    assert at(2, 90, two, waits) == NOW
    assert at(2, 91, two, waits) == NOW + 90 + 50  # else it would delay the one that waits
    assert at(3, 60, two, waits) == NOW + 90 + 50
    assert at(3, 60, two, replace(waits, state="H")) == NOW + 90


def test_nodes_that_are_down_are_never_free() -> None:
    nodes = [*NODES[:3], replace(NODES[3], states=("down",))]
    assert [at(3, 60, nodes=nodes), at(4, 60, nodes=nodes)] == [NOW, None]
    assert foresee(1, 60, ("n3",), nodes, [], NOW) == Foreseen(None, NOW)
    assert at(1, 60, names=("unknown",)) is None
