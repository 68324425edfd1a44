"""What `read_script` makes of `#SBATCH` lines, and what sbatch makes of them."""

from collections.abc import Iterator

import pytest

from cosched_adapters.slurm.commands import details, each_row
from cosched_adapters.slurm.script import Asked, read_script
from deploy.slurm.lab import Cluster, Lab


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Lab(names=("intrepid",), nodes=1) as lab:
        yield lab["intrepid"]


@pytest.mark.parametrize(
    "lines",
    [
        ["#SBATCH --comment='a b'  --requeue"],
        ["#SBATCH --comment=a\\", "#SBATCH -H"],
        ["#SBATCH --comment=a#b"],
        ["#SBATCH --comment='a\\'b#c' # x"],
        ['#SBATCH --comment="a\\n\\"b"'],
        ["""#SBATCH --comment="it's"' "a"'\\'"""],
        ["#SBATCH --com x"],
        [" #SBATCH --comment=x"],
        ["#SBATCH--comm=x"],
        ["#SLURM --comment x"],
        ["", " # c", "#SBATCH --comment=x", "#SBATCH --comment=y", "cd /", "#SBATCH --comment=z"],
        ["#SBATCH --comment=é\xa0b"],
        ["\xa0", "#SBATCH --comment=x"],
        ["#SBATCH --comment="],
        ["#SBATCH -Ha1-2"],
        ["#SBATCH -N1 -a 3"],
        ["#SBATCH --array 1-2 --no-req"],
        ["#SBATCH --array="],
        ["#SBATCH -n1 --comment=x --comment=y", "#SBATCH   HetJob foo", "#SBATCH -n1"],
        ["#SBATCHhetjob"],
        ["#SBATCH -n1 hetjob"],
        ["#SBATCH --no-requeue", "#SBATCH --requeue"],
        ["#SBATCH --req", "#SBATCH --no-requeue"],
    ],
)
def test_scripts_are_read_as_by_sbatch(cluster: Cluster, lines: list[str]) -> None:
    text = "\n".join(["#!/bin/sh", *lines, "true", ""])
    job = str(cluster.sbatch(text, "--hold"))
    *_, row = each_row(cluster.run(*details([job])).encode(), comments=True)
    shown = Asked(row.comment or "", bool(row.array), bool(row.het), row.others, not row.can_yield)
    assert read_script(text.encode(), {}) == shown
