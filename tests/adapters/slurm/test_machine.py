"""What a profile is made of, recorded from Slurm 22.05.8 and 26.05.3."""

from pathlib import Path

import pytest

from cosched_adapters.manager import ManagerError
from cosched_adapters.slurm import machine
from cosched_adapters.slurm.machine import MachineJob
from cosched_adapters.slurm.wants import shared

RECORDED = Path(__file__).with_name("recorded")


def node(text: str) -> bytes:
    """A line of sinfo; the node has nothing of note."""
    return f"{text} 4 2000 (null) (null)\n".encode()


def jobs(version: str) -> dict[str, MachineJob]:
    printed = (RECORDED / f"machine-jobs-{version}.txt").read_bytes()
    return {job.job_id: job for job in machine.parse_jobs(printed)}


@pytest.mark.parametrize("version", ["22.05", "26.05"])
def test_jobs_are_read_with_what_they_take_and_want(version: str) -> None:
    found = jobs(version)
    assert {job for job, read in found.items() if read.queued} == {"2", "4", "5"}
    running, waiting = found["1"], found["2"]
    assert running.nodes == {"intrepid1", "intrepid2", "intrepid3"}
    assert (running.count, running.limit, running.reservation, running.partitions) == (3, 300, None, ("main",))
    assert 300 <= (running.end or 0) - running.submitted <= 301
    assert (waiting.count, waiting.limit, waiting.end, waiting.nodes) == (8, 86700, None, frozenset())


@pytest.mark.parametrize("version", ["22.05", "26.05"])
def test_jobs_that_wait_for_something_else_and_those_of_certain_nodes_are_known_as_such(version: str) -> None:
    """Job 4 is held and names a node, job 5 has a begin time, and neither has a time limit."""
    found = jobs(version)
    assert {job for job, read in found.items() if read.kept_back} == {"4", "5"}
    assert {job for job, read in found.items() if read.wants.required} == {"4"}
    assert (found["4"].wants.required, found["4"].wants.excluded) == ({"intrepid7"}, {"intrepid1"})
    assert {job for job, read in found.items() if not read.limit} == {"4", "5"}


def test_slurm_26_05_shows_in_another_field_whether_a_job_shares_nodes() -> None:
    """Job 1 is of `sbatch --exclusive`."""
    printed, counted = ((RECORDED / f"array-{name}-26.05.txt").read_bytes() for name in ("machine", "counts"))
    found = machine.parse_jobs(printed, counted, frozenset(["cpu"]))
    assert {job.job_id: job.wants.asks.amounts for job in found} == {"1": None, "2": {"cpu": 1}, "3": {"cpu": 1}}
    assert machine.counts(exclusive=True)[-1].endswith("Exclusive:0-exclusive\x1f")
    assert machine.counts()[-1].endswith("OverSubscribe:0\x1f")


def test_only_nodes_that_can_be_used_count() -> None:
    """Nodes 5 and 6 are down and drained: Slurm would reserve them all the same."""
    usable = machine.parse_nodes((RECORDED / "machine-nodes.txt").read_bytes())
    assert usable == {"main": {f"intrepid{number}" for number in (1, 2, 3, 4, 7, 8)}}


@pytest.mark.parametrize("state", ["idle*", "idle~", "mixed$", "allocated@", "down", "draining", "maint", "future"])
def test_a_node_in_a_doubtful_state_does_not_count(state: str) -> None:
    printed = b"".join(node(each) for each in (f"n1 main {state}", "n2 main mixed-", "n2 big completing+"))
    assert machine.parse_nodes(printed) == {"main": {"n2"}, "big": {"n2"}}


def test_nodes_have_states_for_a_job_that_comes_now() -> None:
    states = machine.parse_states((RECORDED / "machine-nodes.txt").read_bytes())
    assert states == {
        **{f"intrepid{number}": "busy" for number in (1, 2, 3)},
        "intrepid4": "idle",  # planned for a job that waits
        **{f"intrepid{number}": "down" for number in (5, 6)},
        **{f"intrepid{number}": "idle" for number in (7, 8)},
    }
    printed = b"".join(
        map(node, ("n1 main mixed", "n2 main idle*", "n3 main idle-", "n4 main reserved", "n5 main draining"))
    )
    assert [*machine.parse_states(printed).values()] == ["busy", "down", "idle", "busy", "down"]


def test_the_default_partition_is_marked() -> None:
    assert machine.parse_default(b"big\nmain*\nall\n") == "main"
    assert machine.parse_default(b"big\n") is None


def test_what_has_another_form_is_refused() -> None:
    with pytest.raises(ManagerError, match="squeue printed"):
        machine.parse_jobs(b"1 2 3\n")
    with pytest.raises(ManagerError, match="sinfo printed"):
        machine.parse_nodes(b"n1 main\n")


def asked() -> dict[str, MachineJob]:
    """Jobs of nodes with 4 CPUs, two GPUs of one of two types, and 4,000 or 2,000 MB."""
    printed, counted = ((RECORDED / f"devices-{kind}.txt").read_bytes() for kind in ("jobs", "counts"))
    return {job.job_id: job for job in machine.parse_jobs(printed, counted, frozenset({"cpu", "mem"}))}


@pytest.mark.parametrize(
    ("job", "amounts", "licences"),
    [
        ("25", {"cpu": 1, "mem": 500, "gres/gpu": 1}, {}),
        ("26", {"cpu": 2, "mem": 200, "gres/gpu": 2}, {}),  # --gpus=2 --mem-per-cpu=100
        ("27", None, {}),  # exclusive
        ("28", None, {"matlab": 2}),  # it names no memory, so it has all that there is
        ("29", None, {"matlab": 3, "fluent": 1}),
        ("40", {"cpu": 2, "mem": 400, "gres/gpu": 2}, {}),  # three GPUs on two nodes
    ],
)
def test_jobs_ask_for_parts_of_their_nodes_and_for_licences(
    job: str, amounts: dict[str, int] | None, licences: dict[str, int]
) -> None:
    assert asked()[job].wants.asks == (amounts, licences)


@pytest.mark.parametrize(
    ("job", "nodes"),
    [
        ("25", "1234"),
        ("28", "12"),  # fast&big
        ("29", "1234"),  # slow|fast
        ("36", "1"),  # 3,000 MB, on the first
        ("37", "12"),  # three GPUs of one type, for which Slurm counts two nodes
        ("38", "123"),  # not on the fourth
        ("39", "34"),  # one of a type for each of two tasks
    ],
)
def test_jobs_run_where_there_is_what_they_want(job: str, nodes: str) -> None:
    rooms = machine.parse_rooms((RECORDED / "devices-nodes.txt").read_bytes())
    wants = asked()[job].wants
    assert {name for name, room in rooms.items() if wants.suited(name, room)} == {f"intrepid{n}" for n in nodes}
    assert not wants.uncounted


@pytest.mark.parametrize(("job", "why"), [("31", "constraint"), ("33", "licences"), ("35", "socket"), ("40", "names")])
def test_what_cannot_be_counted_is_named(job: str, why: str) -> None:
    assert why in asked()[job].wants.uncounted


def test_licences_are_counted_for_the_whole_cluster() -> None:
    assert machine.parse_licences((RECORDED / "devices-licences.txt").read_bytes()) == {"fluent": 2, "matlab": 4}


@pytest.mark.parametrize(
    ("kind", "parameters", "shares"),
    [
        ("select/cons_tres", "CR_CPU_MEMORY", {"cpu", "mem"}),
        ("select/cons_res", "CR_CORE", {"cpu"}),
        ("select/cons_tres", "CR_MEMORY", set()),
        ("select/linear", "CR_CPU", set()),
    ],
)
def test_jobs_share_nodes_as_slurm_is_configured(kind: str, parameters: str, shares: set[str]) -> None:
    assert shared({"SelectType": kind, "SelectTypeParameters": parameters}) == shares
