"""The laboratory: a cluster comes up, runs jobs, survives kill -9 of its server, and leaves nothing."""

import json
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from deploy.pbs.lab import PbsCluster

pytestmark = pytest.mark.soak


def test_a_cluster_runs_a_job_on_several_nodes(cluster: PbsCluster) -> None:
    job = cluster.qsub("echo on $(sort -u $PBS_NODEFILE | wc -l)", "-lselect=2:ncpus=1")
    cluster.wait_for_state(job, "F")
    assert cluster.job(job)["Exit_status"] == 0
    assert cluster.job(job)["exec_vnode"] == "(mira1:ncpus=1)+(mira2:ncpus=1)"


def test_its_commands_work_from_outside(cluster: PbsCluster) -> None:
    printed = subprocess.run([cluster.bin / "qstat", "-B", "-F", "json", "-f"], capture_output=True, check=True).stdout
    assert list(json.loads(printed)["Server"]) == ["mira"]


def test_jobs_survive_a_server_that_is_killed(cluster: PbsCluster) -> None:
    job = cluster.qsub("sleep 1", "-lselect=1:ncpus=1")
    cluster.kill_server()
    cluster.start_server()
    cluster.wait_for(lambda: {*cluster.states().values()} == {"free"}, "the nodes to be back")
    cluster.qmgr("set server scheduling = true")  # the server may have forgotten its start; PBS looks after ten minutes
    cluster.wait_for_state(job, "F")


def test_clusters_that_come_up_at_once_have_databases_of_their_own() -> None:
    with tempfile.TemporaryDirectory(prefix="pbs-") as folder, ExitStack() as stack, ThreadPoolExecutor() as pool:
        clusters = [PbsCluster(name, Path(folder) / name) for name in ("mira", "polaris")]
        for cluster in pool.map(PbsCluster.__enter__, clusters):
            stack.push(cluster.__exit__)
        first, second = (cluster.qsub("sleep 1", "-lselect=1:ncpus=1") for cluster in clusters)
        assert (first.partition(".")[2], second.partition(".")[2]) == ("mira", "polaris")
