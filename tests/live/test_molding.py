"""Jobs whose sizes are chosen: real services over the local manager, killed and started again (molding.md, Live)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from cosched.client import Client, ClientError
from tests.live.services import Service, noted, restart_all, script_that_waits, wait_until, whys
from tests.live.workloads import are_together

pytestmark = pytest.mark.papers

NODES = 10
MOLDABLE = {"moldable": "1"}
# Notes what it was told of its size, and runs until there is a file.
SCRIPT = """#!/bin/sh
echo "$COSCHED_JOB_ID $COSCHED_NODES $COSCHED_NODELIST" >> {notes}
until [ -e {go} ]; do sleep 0.05; done
"""


class Molding:
    """A domain that molds its jobs, and what these note."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.notes, self.go = service.folder / "notes", service.folder / "go"
        service.schedule_by("molding", slots=NODES)

    def submit(self, client: Client, nodes: int, **more: object) -> str:
        script = SCRIPT.format(notes=self.notes, go=self.go)
        return client.submit(script, nodes=nodes, **{"time_limit": 1000, "columns": MOLDABLE, **more}).id

    def told(self) -> dict[str, tuple[int, int]]:
        """By job: how many nodes it has, and how many names of nodes it was told."""
        lines = self.notes.read_text().split("\n")[:-1] if self.notes.exists() else []
        found = {job: (int(nodes), len(names.split(","))) for job, nodes, names in map(str.split, lines)}
        assert len(found) == len(lines), "a job was started twice"
        return found


@pytest.fixture
def molding(make_service: Callable[..., Service]) -> Molding:
    return Molding(make_service("a"))


def test_the_size_of_a_running_job_outlives_its_service(molding: Molding):
    molding.service.config["manager"]["prediction"] = "past"
    service = molding.service.start()
    with service.client() as client:
        rigid = molding.submit(client, 3, columns=None)
        wait_until(lambda: client.job(rigid).state == "running", "the rigid one runs")
        shrunk, third = molding.submit(client, 8), molding.submit(client, 10, hold=True, columns=None)
        wait_until(lambda: len(molding.told()) == 2, "two jobs run")
        sizes = {job: client.job(job).nodes for job in (rigid, shrunk)}
        assert sizes[rigid] == 3 < 4 <= sizes[shrunk] < 8
        known = [client.job(job) for job in sizes]
        ends = {job.id: job.latest_end - job.started_at for job in known}
        limit = timedelta(seconds=1000)  # of the rigid one, from its turn on: its process may begin later
        assert limit * 0.9 < ends[rigid] <= limit < ends[shrunk], "a time limit follows from the size"
    service.restart()
    with service.client() as client:
        assert molding.told() == {job: (nodes, nodes) for job, nodes in sizes.items()}
        for job, nodes in sizes.items():
            known = client.job(job)
            assert (known.nodes, known.latest_end - known.started_at) == (nodes, ends[job])
        assert client.domain().nodes["idle"] == NODES - sum(sizes.values())
        client.release(third)
        wait_until(lambda: client.explain(third).job.reason is not None, "it waits")
        service.restart()
        assert client.job(third).state == "queued", "it has its nodes beside others that have them"
        molding.go.touch()
        wait_until(lambda: client.job(third).state == "completed", "all end")
    assert molding.told()[third] == (NODES, NODES)
    assert not service.faults()


def test_a_size_is_told_with_its_reason_before_and_after_the_start(molding: Molding):
    service = molding.service.start()
    with service.client() as client:
        first = molding.submit(client, 4)
        second = molding.submit(client, 8, columns={"run_times": "6:400 7:350 8:310 9:300"})
        wait_until(lambda: client.job(first).state == "running", "the first runs")
        planned = client.explain(second).job
        assert client.job(first).nodes == 8, "case a of the page: m is 2.25"
        assert 6 <= planned.start.nodes <= 9
        assert planned.size.startswith(f"{planned.start.nodes} nodes by the plan: sizes are ")
        assert "8 nodes: sizes are 2.25 times the best ones now" in service.run("explain", first).stdout
        shown = service.run("show", first).stdout
        assert "runs on 8 nodes, and its best size is 4: sizes are 2.25 times the best ones now" in shown
        assert "time limit  16:40; on what it has it may run until " in shown
        assert service.run("queue", "--start").stdout.split()[-1] == str(planned.start.nodes)
        service.restart()
        assert "2.25 times the best ones now" in client.explain(first).job.size
        molding.go.touch()
        wait_until(lambda: client.job(second).state == "completed", "both end")
    nodes, names = molding.told()[second]
    assert 6 <= nodes == names <= 9
    assert f"runs on {nodes} nodes, and its best size is 8" in service.run("show", second).stdout


REFUSED = [
    (8, {"min_nodes": "9"}, "min_nodes: 9, and the job's best size is 8, which must be allowed"),
    (8, {"min_nodes": "9", "max_nodes": "8"}, "min_nodes: 9 is more than max_nodes, 8"),
    (8, {"min_nodes": "3"}, "min_nodes: 3 wanted, and here a job for 8 nodes has 4 to 10"),
    (4, {"max_nodes": "9"}, "max_nodes: 9 wanted, and here a job for 4 nodes has 2 to 8"),
    (8, {"max_nodes": "11"}, "max_nodes: 11 wanted, and here a job for 8 nodes has 4 to 10"),
    (8, {"min_nodes": "0"}, "min_nodes: '0' is below 1"),
    (8, {"run_times": "6:90 8:70"}, "run_times: 7 nodes are missing: give a run time on each of 6 to 8"),
    (8, {"run_times": "6:90"}, "8 nodes wanted, and its run times are those on 6 to 6: its best size must be one"),
    (8, {"min_nodes": "6", "moldable": "0"}, "min_nodes: has no meaning, as the job is not moldable"),
]


def test_sizes_that_cannot_be_are_refused_in_a_line(molding: Molding):
    with molding.service.start().client() as client:
        for nodes, columns, said in REFUSED:
            with pytest.raises(ClientError) as refused:
                molding.submit(client, nodes, columns=columns)
            assert said in str(refused.value)
            assert "\n" not in str(refused.value)
        assert not client.jobs()


def test_a_domain_that_does_not_mold_refuses_moldable_jobs(make_service):
    service = make_service("b").start()
    script = service.folder / "job.sh"
    script.write_text("#!/bin/sh\n")
    no_range = "nodes: a batch scheduler takes no range, only a molding scheduler does: give one number"
    no_column = "'moldable': a batch scheduler reads nothing of this name, only a molding scheduler does: leave it out"
    for options, said in (["--nodes", "2", "--moldable"], no_column), (["--nodes", "2-4", "--best", "3"], no_range):
        done = service.run("submit", *options, str(script))
        assert done.returncode
        [line] = done.stderr.splitlines()
        assert line == f"cosched: {said}"


@pytest.mark.parametrize("scheme", ["hold", "yield"])
def test_a_pair_with_a_batch_domain_starts_together_though_either_is_killed(make_pair, scheme: str):
    pair = make_pair(scheme=scheme, max_held_fraction="1")
    molding = Molding(pair.a)
    pair.start()
    with pair.a.client() as a, pair.b.client() as b:
        mate = molding.submit(a, 8, pair="p")
        wait_until(lambda: a.job(mate).reason == "MateUnsubmitted", "it waits for its mate")
        held = a.job(mate).nodes if scheme == "hold" else 0
        pair.a.restart()
        if held:
            assert (a.job(mate).nodes, a.domain().nodes["held"]) == (held, held), "a hold keeps its size"
        rigid = b.submit(script_that_waits(pair.folder, molding.go), nodes=2, time_limit=600, pair="p").id
        wait_until(lambda: a.job(mate).state == b.job(rigid).state == "running", "both start")
        nodes = a.job(mate).nodes
        restart_all(pair.both)
        wait_until(lambda: molding.told() == {mate: (nodes, nodes)}, "it notes its size")
        assert held in (0, nodes)
        molding.go.touch()
        wait_until(lambda: a.job(mate).state == b.job(rigid).state == "completed", "both end")
    assert are_together(whys(pair.a, mate) + whys(pair.b, rigid))
    assert [start[:3] for start in noted(pair.folder)] == [("b", rigid, "p")]
    assert not pair.faults()
