"""Two users of real user ids, whose own services an administrators' service lets in, or not."""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.live.own import skip_without_sshd
from tests.slurm.two_accounts import USERS


@pytest.mark.soak
@pytest.mark.skipif(os.geteuid() != 0, reason="other users, and another /etc/passwd, need root")
def test_an_administrators_service_lets_one_user_in_and_no_other() -> None:
    skip_without_sshd()
    with tempfile.TemporaryDirectory(prefix="accounts-") as folder:
        Path(folder).chmod(0o755)
        command = ["unshare", "-m", "--propagation", "private", sys.executable, "-m", "tests.slurm.two_accounts"]
        done = subprocess.run([*command, folder], capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [said.split()[:2] for said in found["up"]] == [["ann-intrepid", "serves:"], ["bob-intrepid", "serves:"]]
    assert found["add"] == "ann-intrepid and eureka are coupled, by ssh ann@login.eureka\n"
    why = "the administrators' service eureka does not admit bob: ask its administrators"
    assert found["refused"] == [3, f"cosched: bob@login.eureka: {why}\n"]
    assert found["shut"] != 0
    for name in ("run1", "run2"):
        (uid, first), (other, second) = found[name]
        assert uid == other == str(USERS["ann"])
        assert abs(float(first) - float(second)) < 1, found
    assert found["owned"] == [False, False]
    assert "cosched: this user is nobody on ann-intrepid" in found["nobody"]
    assert re.search("eureka has no job [0-9]+ that this one may name", found["unknown"])
    assert found["alone"]
    assert "ann-intrepid" not in found["bobs"]
