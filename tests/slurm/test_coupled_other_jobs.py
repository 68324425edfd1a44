"""Heterogeneous jobs, and jobs of srun and salloc, beside batch jobs of another real Slurm cluster."""

import subprocess

import pytest

from cosched_adapters.slurm.comments import HET
from deploy.slurm.lab import Domain
from tests.live.coupled import known
from tests.live.workloads import Work
from tests.slurm.coupled import NOTING
from tests.slurm.coupled_checks import START, Served, fill
from tests.slurm.laboratory import laboratory
from tests.slurm.pair_option import PLUGINS, install

pytestmark = pytest.mark.soak
NODES = 4
P = Work("p", 1, 0.3)
COMPONENTS = (":", "--nodes=2")  # of three nodes in all
running, coupled = laboratory(Served, options={"nodes": NODES, "lines": PLUGINS}, services=False, **START)
SCHEMES = [("hold", "hold"), ("hold", "yield"), ("yield", "hold"), ("yield", "yield")]


@pytest.fixture(scope="module", autouse=True)
def _options(running: Served) -> None:
    for domain in running.lab:
        install(domain.cluster)


def busy(domain: Domain) -> list[str]:
    """The nodes that have jobs."""
    return domain.cluster.sinfo("-h", "-N", "-t", "alloc", "-o", "%N").split()


@pytest.mark.parametrize("schemes", SCHEMES, ids="-".join)
@pytest.mark.parametrize("order", ["first", "last"])
def test_a_heterogeneous_job_is_one_mate(coupled: Served, schemes: tuple[str, str], order: str) -> None:
    coupled.serve(schemes)
    here, there = coupled.here, coupled.there
    theirs = coupled.submit(there, P) if order == "last" else ""
    if theirs:
        coupled.until(lambda: theirs in known(there), "the mate to be known")
    ours = coupled.submit(here, P, *COMPONENTS)
    if not theirs:
        if schemes[0] == "hold":
            assert coupled.until_state(here, ours, "holding").nodes == 3
            assert len(busy(here)) == 3
        else:
            coupled.until_job(here, ours, lambda job: job.holds.yields > 0 and job.state == "queued", "has yielded")
            coupled.until(lambda: not busy(here), "its components to give all nodes back")
    coupled.check_started_together([ours], [theirs or coupled.submit(there, P)])


def test_a_heterogeneous_job_whose_hold_is_over_gives_all_its_nodes_to_others(coupled: Served) -> None:
    coupled.serve(release_interval=2)
    ours = coupled.submit(coupled.here, P, *COMPONENTS)
    coupled.until_state(coupled.here, ours, "holding")
    other = fill(coupled.here, NODES)
    theirs = coupled.submit(coupled.there, P)
    coupled.here.cluster.scancel(other)
    coupled.check_started_together([ours], [theirs])


def test_one_whose_second_component_alone_names_the_mate_starts_alone_and_both_are_told(coupled: Served) -> None:
    coupled.serve()
    here, there = coupled.here, coupled.there
    theirs = coupled.submit(there, Work("q", 1, 0.3))
    coupled.until_state(there, theirs, "holding")
    script = NOTING.format(name="q", notes=coupled.notes(here), seconds=600)
    lines = "#SBATCH --nodes=1\n#SBATCH hetjob\n#SBATCH --nodes=2 --comment=cosched:pair=q\n"
    ours = here.cluster.sbatch(script.replace("\n", f"\n{lines}", 1), "--output=/dev/null")
    coupled.until(lambda: "components name different mates" in there.service.run("show", theirs), "the mate to be told")
    log = here.service.log.read_text()
    assert log.count(f"job {ours} of ") == log.count(HET) == 1
    here.cluster.scancel(ours)
    there.cluster.scancel(theirs)


@pytest.mark.parametrize("command", ["srun", "salloc"])
@pytest.mark.parametrize("schemes", SCHEMES, ids="-".join)
def test_a_job_without_a_script_is_a_mate_by_its_option(
    coupled: Served, schemes: tuple[str, str], command: str
) -> None:
    """It holds under every scheme."""
    coupled.serve(schemes)
    here = coupled.here
    script = NOTING.format(name="p", notes=coupled.notes(here), seconds=0.3)
    argv = [command, "--nodes=1", "--pair=p", "bash", "-c", script]
    with subprocess.Popen(argv, env=here.cluster.environment, cwd=here.cluster.jobs) as process:
        ours = coupled.until(lambda: here.cluster.squeue("-h", "-o", "%i").strip(), "its job")
        coupled.until_state(here, ours, "holding")
        coupled.check_started_together([ours], [coupled.submit(coupled.there, P)])
        assert process.wait() == 0
