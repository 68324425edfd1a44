"""An ordinary user with an empty home on two real clusters, and a login by ssh, has a pair in at most six commands."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.live.own import skip_without_sshd
from tests.slurm.fresh_account import UID

COMMANDS, SECONDS = 6, 300


@pytest.mark.soak
@pytest.mark.skipif(os.geteuid() != 0, reason="another user, and another /etc/passwd, need root")
def test_the_first_pair_of_a_fresh_account() -> None:
    skip_without_sshd()
    with tempfile.TemporaryDirectory(prefix="first-") as folder:
        Path(folder).chmod(0o755)
        command = ["unshare", "-m", "--propagation", "private", sys.executable, "-m", "tests.slurm.fresh_account"]
        done = subprocess.run([*command, folder], capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert len(found["said"]) <= COMMANDS
    assert found["said"][-1].count("Submitted job") == 2
    (here, first), (there, second) = found["noted"]
    assert here == there == str(UID)
    assert abs(float(first) - float(second)) < 1, found
    assert found["seconds"] < SECONDS
    assert found["mode"] == "0o700"
