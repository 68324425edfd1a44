"""Jobs without mates: their hooks ask nobody, they cause no command of Slurm, and an idle service hardly makes any."""

from collections.abc import Iterator
from typing import Any

import pytest

from deploy.slurm.lab import Cluster, CoupledLab, wait_for
from tests.slurm.cosched_hooks import Service, check_for_compiler
from tests.slurm.coupled import Coupled
from tests.slurm.managed import Counted, clusters

POLL_INTERVAL = 1.0  # seconds; the least that the service takes
INTERVALS = 6
PACE = 1.0  # seconds from one look at the queue to the next, at least
PAIRS, ALONE, NODES = 8, 8, 4


def submit_unpaired(cluster: Cluster) -> list[int]:
    """Jobs of all kinds, none with a word for cosched."""
    options = [[], ["--comment=of project 17"], ["--array=1-5"], ["--no-requeue"], ["--hold"]]
    jobs = [cluster.sbatch("true", "--output=/dev/null", *its) for its in options for _ in range(4)]
    for job in jobs[-4:-2]:
        cluster.scontrol("release", str(job))
    cluster.scancel(*jobs[-2:])
    cluster.wait_for_no_jobs()  # an srun that has to wait in the queue may fail on a busy machine: Slurm gives it up
    cluster.run("srun", "--comment=cosch", "true")
    cluster.wait_for_no_jobs()
    return jobs


def test_no_prolog_of_a_job_without_a_mate_reaches_the_service() -> None:
    with clusters("intrepid", nodes=2, cpus=10) as running:
        cluster, hooks = running["intrepid"]
        with Service(hooks.socket) as service:
            jobs = submit_unpaired(cluster)
            paired = cluster.sbatch("true", "--output=/dev/null", "--comment=cosched:pair=p")
            service.wait_for_offer(paired)
            service.start(paired)
            service.wait_for(f"COMPLETED {paired}")
            wait_for(lambda: set(map(str, jobs)) <= {end.job_id for end in service.ends}, "the notes of all ends")
        assert [offer.job_id for offer in service.offers] == [str(paired)]
        assert hooks.messages() == []


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> Counted:
    return Counted(tmp_path_factory.mktemp("bin"))


@pytest.fixture(scope="module")
def coupled(counted: Counted) -> Iterator[Coupled]:
    """With a poll interval that never ends within a test."""
    check_for_compiler()
    settings: dict[str, Any] = {"backoff": 1, "try_patience": 1, "release_interval": 2, "max_held_fraction": 0.75}
    options = {"nodes": NODES, "cpus": 4}
    with CoupledLab(options=options, bin=str(counted.folder), poll_interval=3600, **settings) as lab:
        yield Coupled(lab)


def test_jobs_without_mates_cause_no_command_of_slurm(coupled: Coupled, counted: Counted) -> None:
    before = counted.calls()
    submit_unpaired(coupled.here.cluster)
    assert counted.calls() == before != []
