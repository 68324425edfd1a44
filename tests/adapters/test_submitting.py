"""What each batch system does whose command to submit is not there."""

from pathlib import Path

import pytest

from cosched_adapters.batch_system import Submission, Submit
from cosched_adapters.gridengine.submitting import submit as to_gridengine
from cosched_adapters.manager import ManagerError
from cosched_adapters.pbs.submitting import submit as to_pbs
from cosched_adapters.slurm.submitting import submit as to_slurm


@pytest.mark.parametrize(("submit", "command"), [(to_pbs, "qsub"), (to_gridengine, "qsub"), (to_slurm, "sbatch")])
def test_a_command_that_is_not_there_is_named(
    submit: Submit, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ManagerError, match=f"^{command} is not found in PATH; jobs of this domain are submitted with"):
        submit(Submission("mira", ["eureka"], "job.sh", b"#!/bin/sh\ntrue\n", (), {}))
