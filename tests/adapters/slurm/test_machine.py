"""What a profile is made of, recorded from Slurm 22.05.8 and 26.05.3."""

from pathlib import Path

import pytest

from cosched.adapters.manager import ManagerError
from cosched.adapters.slurm import machine
from cosched.adapters.slurm.machine import MachineJob

RECORDED = Path(__file__).with_name("recorded")


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
def test_jobs_that_wait_for_something_else_and_jobs_with_wishes_are_known_as_such(version: str) -> None:
    """Job 4 is held and names a node, job 5 has a begin time, and neither has a time limit."""
    found = jobs(version)
    assert {job for job, read in found.items() if read.kept_back} == {"4", "5"}
    assert {job for job, read in found.items() if read.wishes} == {"4"}
    assert {job for job, read in found.items() if not read.limit} == {"4", "5"}


def test_only_nodes_that_can_be_used_count() -> None:
    """Nodes 5 and 6 are down and drained: Slurm would reserve them all the same."""
    usable = machine.parse_nodes((RECORDED / "machine-nodes.txt").read_bytes())
    assert usable == {"main": {f"intrepid{number}" for number in (1, 2, 3, 4, 7, 8)}}


@pytest.mark.parametrize("state", ["idle*", "idle~", "mixed$", "allocated@", "down", "draining", "maint", "future"])
def test_a_node_in_a_doubtful_state_does_not_count(state: str) -> None:
    printed = f"n1 main {state}\nn2 main mixed-\nn2 big completing+\n".encode()
    assert machine.parse_nodes(printed) == {"main": {"n2"}, "big": {"n2"}}


def test_nodes_have_states_for_a_job_that_comes_now() -> None:
    states = machine.parse_states((RECORDED / "machine-nodes.txt").read_bytes())
    assert states == {
        **{f"intrepid{number}": "busy" for number in (1, 2, 3)},
        "intrepid4": "idle",  # planned for a job that waits
        **{f"intrepid{number}": "down" for number in (5, 6)},
        **{f"intrepid{number}": "idle" for number in (7, 8)},
    }
    printed = b"n1 main mixed\nn2 main idle*\nn3 main idle-\nn4 main reserved\nn5 main draining\n"
    assert [*machine.parse_states(printed).values()] == ["busy", "down", "idle", "busy", "down"]


def test_the_default_partition_is_marked() -> None:
    assert machine.parse_default(b"big\nmain*\nall\n") == "main"
    assert machine.parse_default(b"big\n") is None


def test_what_has_another_form_is_refused() -> None:
    with pytest.raises(ManagerError, match="squeue printed"):
        machine.parse_jobs(b"1 2 3\n")
    with pytest.raises(ManagerError, match="sinfo printed"):
        machine.parse_nodes(b"n1 main\n")
