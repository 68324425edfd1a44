"""A user's own service as a unit of the user's systemd: started again if it was killed, and gone when it has ended."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.live.under_systemd import SYSTEMD
from tests.waiting import wait_until


@pytest.fixture
def group() -> Iterator[Path]:
    """A control group, below which a systemd may make others; it holds no controllers, and processes of ours alone."""
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    root = next((Path(place) for _, place, kind, *_ in mounts if kind == "cgroup2"), None)
    if root is None:
        pytest.skip("there are no control groups of version 2 here")
    made = root / f"cosched-test-{os.getpid()}"
    try:
        made.mkdir()
    except OSError as error:
        pytest.skip(f"control groups cannot be made here: {error}")
    yield made
    wait_until(lambda: is_removed(made), "all that ran in it has ended")


def is_removed(group: Path) -> bool:
    for below in sorted(group.rglob("*/"), reverse=True):
        with suppress(OSError):
            below.rmdir()
    with suppress(OSError):
        group.rmdir()
    return not group.exists()


@pytest.mark.soak
@pytest.mark.skipif(os.geteuid() != 0, reason="namespaces in which an ordinary user has a systemd need root")
@pytest.mark.skipif(not SYSTEMD.exists(), reason="there is no systemd here")
def test_a_service_under_the_user_s_systemd(group: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="systemd-") as folder:
        Path(folder).chmod(0o755)
        apart = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation", "private"]
        inside = f'chown -R 54321 {group}; echo 0 > {group}/cgroup.procs; exec unshare --cgroup "$@"'
        command = [*apart, "sh", "-ec", inside, "sh", sys.executable, "-m", "tests.live.under_systemd", folder]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["up"].startswith("intrepid serves: ")
    assert found["in_unit"]
    assert found["again"][0]
    assert found["again"][1].startswith("intrepid serves already: ")
    assert "completed" in found["job"]
    assert found["down"] == "intrepid has ended\n"
    assert found["ended"] == [None, False]
