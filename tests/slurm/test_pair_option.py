"""`--pair` of sbatch, salloc and srun, by cosched-spank and cli_filter.lua: the pair's name is in the job's comment."""

from collections.abc import Iterator

import pytest

from deploy.slurm.lab import Cluster, Lab
from tests.slurm.cosched_hooks import check_for_compiler
from tests.slurm.pair_option import PLUGINS, install


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    check_for_compiler()
    with Lab(names=("intrepid",), nodes=1, lines=PLUGINS) as lab:
        install(lab["intrepid"])
        yield lab["intrepid"]


@pytest.mark.parametrize(
    ("prefix", "options", "lines", "comment"),
    [
        ([], ["--pair=run7"], "", "cosched:pair=run7"),
        ([], ["--comment=mine", "--pair", "run7"], "", "mine cosched:pair=run7"),
        ([], ["--comment=cosched:pair=run7", "--pair=run7"], "", "cosched:pair=run7"),
        ([], [], "#SBATCH --pair=inside\n", "cosched:pair=inside"),
        (["COSCHED_PAIR=run7"], [], "", "cosched:pair=run7"),
        (["COSCHED_PAIR=run7", "SLURM_JOB_ID=5"], ["--comment=of a job"], "", "of a job"),
        ([], ["--comment=mine"], "", "mine"),
    ],
)
def test_a_batch_job_names_its_pair(
    cluster: Cluster, prefix: list[str], options: list[str], lines: str, comment: str
) -> None:
    script = f"#!/bin/sh\n{lines}true\n"
    job = cluster.run("env", *prefix, "sbatch", "--parsable", "--hold", *options, text=script).strip()
    assert cluster.squeue("-h", "-j", job, "-o", "%k").strip() == comment


@pytest.mark.parametrize("command", ["salloc", "srun"])
def test_so_do_jobs_without_a_script(cluster: Cluster, command: str) -> None:
    show = 'squeue -h -j "$SLURM_JOB_ID" -o %k'
    assert cluster.run(command, "--pair=run7", "sh", "-c", show).strip() == "cosched:pair=run7"
