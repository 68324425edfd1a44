"""The systemd unit is understood by systemd, and does not harm jobs."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
UNIT = DEPLOY / "cosched@.service"
STRICT = DEPLOY / "cosched-strict.conf"
SLURM = DEPLOY / "slurm" / "slurm-user.conf"
PBS = DEPLOY / "pbs" / "pbs-operator.conf"
SECTIONS = {
    "Unit": {"Description", "Wants", "After", "StartLimitIntervalSec", "StartLimitBurst"},
    "Install": {"WantedBy"},
}
BREAKS_JOBS = {
    *("NoNewPrivileges", "CapabilityBoundingSet", "RestrictSUIDSGID", "ProtectHome", "PrivateTmp", "PrivateDevices"),
    *("DevicePolicy", "ProtectClock", "MemoryDenyWriteExecute", "SystemCallFilter", "RestrictNamespaces", "MemoryMax"),
    *("RestrictAddressFamilies", "PrivateNetwork", "PrivateUsers", "OOMScoreAdjust", "ReadOnlyPaths"),
}


def directives(path: Path) -> dict[str, list[tuple[str, str]]]:
    """Keys and values by section; anything else in the file is a mistake."""
    found: dict[str, list[tuple[str, str]]] = {}
    section = None
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        if line.startswith("["):
            assert line.endswith("]")
            section = found.setdefault(line[1:-1], [])
            continue
        key, equals, value = line.partition("=")
        assert equals
        assert key.isalnum()
        assert section is not None, line
        section.append((key, value))
    return found


def test_the_unit_keeps_jobs_alive_and_unharmed():
    unit = directives(UNIT)
    service = dict(unit["Service"])
    assert set(unit) == {"Unit", "Service", "Install"}
    assert all(dict(unit[name]).keys() <= keys for name, keys in SECTIONS.items())
    assert (service["Type"], service["KillMode"], service["OOMPolicy"]) == ("notify", "process", "continue")
    assert service["Restart"] == "on-failure"
    assert float(service["RestartSec"]) < 0.5  # a pair whose start was under way is apart by it
    assert float(service["RestartSec"]) * int(dict(unit["Unit"])["StartLimitBurst"]) > 1  # and is tried for a while
    assert service["LimitNOFILE"].startswith("8192")
    assert service["RuntimeDirectoryPreserve"] == "yes"
    assert not service.keys() & BREAKS_JOBS


def test_what_the_unit_leaves_out_is_explained():
    comments = "".join(line for line in UNIT.read_text().splitlines() if line.startswith("#"))
    assert all(key in comments for key in BREAKS_JOBS - {"ReadOnlyPaths"})


def test_the_strict_form_has_what_the_plain_one_leaves_out():
    (section,) = directives(STRICT).values()
    assert {"NoNewPrivileges", "ProtectSystem", "PrivateTmp", "SystemCallFilter"} <= dict(section).keys()
    assert "MemoryDenyWriteExecute" not in dict(section)  # kernels are compiled at run time


def test_beside_slurm_it_waits_for_slurmctld():
    service, unit = (dict(directives(SLURM)[name]) for name in ("Service", "Unit"))
    assert (service["User"], service["TimeoutStartSec"]) == ("slurm", "infinity")
    assert "slurmctld.service" in unit["After"]
    assert int(unit["StartLimitIntervalSec"]) == 0


def test_beside_pbs_it_waits_for_the_server_and_may_prove_who_it_is():
    service, unit = (dict(directives(PBS)[name]) for name in ("Service", "Unit"))
    assert service["TimeoutStartSec"] == "infinity"
    assert not service.keys() & {"NoNewPrivileges", "CapabilityBoundingSet"}
    assert unit["After"] == "pbs.service"


@pytest.mark.parametrize("dropped_in", [None, STRICT, SLURM, PBS], ids=["plain", "strict", "slurm", "pbs"])
def test_systemd_has_nothing_to_say_against_it(tmp_path, dropped_in):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("there is no systemd-analyze")
    command = Path(sys.executable).with_name("cosched")
    text = UNIT.read_text()
    assert "/opt/cosched/bin/cosched" in text
    unit = tmp_path / UNIT.name
    unit.write_text(text.replace("/opt/cosched/bin/cosched", str(command)))
    if dropped_in is not None:
        folder = tmp_path / f"{UNIT.name}.d"
        folder.mkdir()
        shutil.copy(dropped_in, folder)
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(unit)], capture_output=True, text=True, timeout=600, check=False
    )
    ours = [line for line in (done.stdout + done.stderr).splitlines() if str(tmp_path) in line or UNIT.stem in line]
    assert not ours
    assert done.returncode == 0
