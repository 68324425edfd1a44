"""The Jacobi example does what its callbacks say, counted and not timed; it follows whatever nodes it is given.

Weissman et al. (2004), figure 4: numDEs, comp_complexity, comm_complexity, iters, min_requirements.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path

import grpc
import numpy as np
import pytest

from cosched.v1 import adaptive_pb2 as wire
from cosched.v1.adaptive_pb2_grpc import AdaptiveServiceServicer, add_AdaptiveServiceServicer_to_server
from cosched_papers.fluid.costs import BROADCAST, exec_time, ideal

SOLVER = Path(__file__).resolve().parents[3] / "deploy" / "examples" / "malleable" / "jacobi.py"
sys.path.append(str(SOLVER.parent))
import jacobi  # noqa: E402

SIZE = 40


@pytest.fixture
def memory() -> Iterator[SharedMemory]:
    made = SharedMemory(create=True, size=jacobi.phase(SIZE, None).least.memory)
    yield made
    made.close()
    made.unlink()


class Counted(np.ndarray):
    """Counts the operations on its elements."""

    operations = 0

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        plain = [np.asarray(given) if isinstance(given, Counted) else given for given in inputs]
        result = getattr(ufunc, method)(*plain, **options)
        Counted.operations += result.size
        return result.view(Counted)


@pytest.mark.parametrize("processes", [1, 2, 3, 5])
def test_each_point_costs_as_many_operations_as_comp_complexity_says(processes):
    """ "numDEs: number of data elements (DE) in the problem"; "comp_complexity: # of executed instructions per DE"."""
    phase, both = jacobi.phase(SIZE, None), np.zeros((2, SIZE, SIZE))
    both[1] = np.nan
    rows = jacobi.bounds(SIZE, processes)
    Counted.operations = 0
    for first, last in pairwise(rows):
        jacobi.update(both[0].view(Counted), both[1], first, last)
    assert int((~np.isnan(both[1])).sum()) == phase.numDEs
    assert Counted.operations == phase.numDEs * phase.comp


@pytest.mark.parametrize("processes", [2, 3, 5])
def test_a_process_reads_one_row_of_each_neighbour(processes):
    """These borders are in the memory that all share, so they are no part of the messages."""
    for first, last in pairwise(jacobi.bounds(SIZE, processes)):
        for unread, harms in ((first - 1, True), (last, True), (first - 2, False), (last + 1, False)):
            if 0 <= unread < SIZE:
                old, new = np.zeros((SIZE, SIZE)), np.zeros((SIZE, SIZE))
                old[unread] = np.nan
                jacobi.update(old, new, first, last)
                assert np.isnan(new).any() == harms


class CountedPipe:
    """A pipe to a process, and what went through it."""

    messages = size = 0

    def __init__(self, pipe) -> None:
        self.pipe = pipe

    def count(self, message: bytes) -> bytes:
        CountedPipe.messages += 1
        CountedPipe.size += len(message)
        return message

    def send_bytes(self, message: bytes) -> None:
        self.pipe.send_bytes(self.count(message))

    def recv_bytes(self) -> bytes:
        return self.count(self.pipe.recv_bytes())


def messages(memory: SharedMemory, processes: int, iterations: int) -> tuple[int, int]:
    """How many messages, and bytes in these, so many iterations need."""
    team = jacobi.Team(memory, SIZE)
    team.move([str(number) for number in range(processes)])
    plain, CountedPipe.messages, CountedPipe.size = team._members, 0, 0
    team._members = {node: (process, CountedPipe(pipe)) for node, (process, pipe) in plain.items()}
    for number in range(iterations):
        team.iterate(number % 2)
    counted = CountedPipe.messages, CountedPipe.size
    team._members = plain
    team.move(())
    return counted


def test_one_more_process_costs_a_step_of_comm_complexity_bytes_an_iteration(memory):
    """ "comm_topology ... is used to select from a set of topology-specific communication functions": P - 1 steps."""
    phase, iterations = jacobi.phase(SIZE, 7), 7
    assert phase.iterations == iterations
    assert phase.topology == BROADCAST
    (few, bytes_of_few), (more, bytes_of_more) = (messages(memory, processes, iterations) for processes in (1, 3))
    assert more - few == (3 - 1) * iterations * 2  # a task and an answer
    assert bytes_of_more - bytes_of_few == (3 - 1) * iterations * phase.comm


def test_what_was_measured_on_some_processes_predicts_the_others():
    """section 3: "the ideal number of processors is determined internally": with messages of 1 ms, 20 ms of work."""
    on_one = jacobi.model(SIZE, 100, jacobi.Times(total=10 * 0.021, comp=10 * 0.020, iterations=10, processes=1))
    on_two = jacobi.model(SIZE, 100, jacobi.Times(total=10 * 0.012, comp=10 * 0.010, iterations=10, processes=2))
    for model in (on_one, on_two):
        assert [exec_time(model, processes) for processes in (1, 2, 4)] == pytest.approx([0.020, 0.011, 0.008])
        assert ideal(model, 1, 16) in (4, 5)  # the square root of 20


def test_a_process_that_is_kept_goes_on_and_one_that_moves_is_another(memory):
    team = jacobi.Team(memory, SIZE)

    def processes() -> dict[str, int]:
        return {node: process.pid for node, (process, _) in team._members.items()}

    team.move(["a", "b"])
    before = processes()
    team.move(["c", "b"])
    after = processes()
    assert set(after) == {"b", "c"}
    assert after["b"] == before["b"]
    assert after["c"] not in before.values()
    team.move(())


class Domain(AdaptiveServiceServicer):
    """A domain that gives these sets of nodes: the next one once the job has predicted, and uses the last."""

    def __init__(self, sets: list[list[str]], end: Path) -> None:
        self.sets, self.end = sets, end
        self.acknowledged: list[int] = []
        self.predicted: list[wire.TellPredictionsRequest] = []

    def ReachBoundary(self, request: wire.ReachBoundaryRequest, _: object) -> wire.ReachBoundaryResponse:  # noqa: N802
        self.acknowledged.append(told := request.acknowledged)
        if told == len(self.sets) - 1:
            self.end.touch()
        elif self.predicted:
            told += 1
        return wire.ReachBoundaryResponse(generation=told, nodes=self.sets[told], least=1, ideal=4)

    def TellPredictions(  # noqa: N802
        self, request: wire.TellPredictionsRequest, _: object
    ) -> wire.TellPredictionsResponse:
        self.predicted.append(request)
        return wire.TellPredictionsResponse()


def test_the_solver_migrates_grows_and_shrinks_and_is_right(tmp_path: Path):
    """ "migrate_processor (old_proc, new_proc)": as many nodes, but others; add_processor; remove_processor."""
    sets = [["a", "b"], ["a", "c"], ["d", "c"], ["d", "c", "a"], ["e"], ["f"]]
    domain = Domain(sets, tmp_path / "end")
    server = grpc.server(ThreadPoolExecutor(1))
    add_AdaptiveServiceServicer_to_server(domain, server)
    address = f"unix:{tmp_path / 'sock'}"
    server.add_insecure_port(address)
    server.start()
    environment = {"COSCHED_JOB_ID": "1", "COSCHED_SERVER": address, "COSCHED_NODELIST": ",".join(sets[0])}
    arguments = ["--size", str(SIZE), "--iterations", "20", "--until", str(domain.end)]
    command = [sys.executable, str(SOLVER), *arguments]
    solver = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True)
    server.stop(None)
    assert solver.returncode == 0, solver.stderr
    assert f"on {[len(nodes) for nodes in sets]} processes: the same as a serial solve" in solver.stdout
    assert sorted(set(domain.acknowledged)) == [*range(len(sets))]
    (told,) = domain.predicted
    assert [each.nodes for each in told.predictions] == [1, 2, 3, 4]
    assert all(each.exec_time > 0 for each in told.predictions)
