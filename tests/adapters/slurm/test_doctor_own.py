"""What is said of a user's own service beside Slurm."""

import os

from cosched_adapters.slurm.doctor import _of_a_user
from cosched_adapters.slurm.doctor.facts import Facts
from cosched_adapters.slurm.settings import SlurmSettings
from tests.adapters.slurm.examined import CONFIG, ME


def test_compute_nodes_reach_the_folder_if_one_has_written_there(tmp_path):
    gates = tmp_path / "gates"

    def found() -> tuple[str, str]:
        settings = SlurmSettings(hook_socket=tmp_path / "s.sock", gates=gates, poll_interval=5)
        facts = Facts({**CONFIG, "JobRequeue": "0"}, settings, ME, ME, True, None)
        findings = {finding.subject: finding for finding in _of_a_user(facts)}
        assert findings.keys() == {"slurmctld", "gates", "requeue", "MinJobAge"}
        assert findings["requeue"].grade == "ok"
        return findings["gates"].grade, " ".join((findings["gates"].found, *findings["gates"].lines))

    assert found() == ("problem", f"{gates} is not a folder cosched up")
    gates.mkdir()
    grade, said = found()
    assert grade == "warning"
    assert f"srun -N1 -t1 test -w {gates}" in said
    (gates / "12.told").write_text("0 ready nodes=1 nodelist=n1\n")
    (gates / "13.told").write_text("0 ready nodes=1 nodelist=n1\n")
    os.utime(gates / "12.told", (1, 1))
    assert found() == ("ok", f"compute nodes see {gates}: job 13 has written there")
