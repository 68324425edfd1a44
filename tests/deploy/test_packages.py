"""Packages of Debian and RPM, built from the tree and looked into; the wheels come from the package index."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from cosched.installation.extras import PACKAGES, SCHEDULER
from cosched.version import VERSION

TOP = Path(__file__).resolve().parents[2]
DEBIAN_PYTHON = "/usr/bin/python3"
VENV = Path("opt/cosched")


def run(*command: object, cwd: Path = TOP, **environment: str) -> str:
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd, capture_output=True, text=True, check=False, env={**os.environ, **environment},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def can_build() -> bool:
    """Whether this is a Debian whose Python makes environments."""
    if shutil.which("dpkg-deb") is None or not Path(DEBIAN_PYTHON).exists():
        return False
    return subprocess.run([DEBIAN_PYTHON, "-c", "import ensurepip, venv"], capture_output=True).returncode == 0


OF_DEBIAN = [f"debian/{name}" for name in ("build.sh", "postinst", "prerm", "postrm")]


@pytest.mark.parametrize("script", ["copy-sources.sh", "dist.sh", "stage.sh", "wheels.sh", "rpm/build.sh", *OF_DEBIAN])
def test_scripts_are_shell(script):
    run("sh", "-n", TOP / "deploy" / script)
    assert os.access(TOP / "deploy" / script, os.X_OK)


@pytest.mark.soak
@pytest.mark.skipif(not can_build(), reason="this is no Debian with python3-venv")
def test_a_debian_package_of_a_service_beside_slurm(tmp_path):
    said = run("sh", "deploy/debian/build.sh", tmp_path).splitlines()
    package, root = Path(said[-1]), tmp_path / "root"
    run("dpkg-deb", "--extract", package, root)
    assert run("dpkg-deb", "--field", package, "Package", "Version") == f"Package: cosched\nVersion: {VERSION}\n"
    assert os.readlink(root / "usr/bin/cosched") == "/opt/cosched/bin/cosched"
    assert (root / "etc/cosched/tls").stat().st_mode & 0o777 == 0o755, "services run as several users"
    unit = (root / "usr/lib/systemd/system/cosched@.service").read_text()
    assert unit == (TOP / "deploy/cosched@.service").read_text()
    assert "ExecStart=/opt/cosched/bin/cosched " in unit
    script = (root / VENV / "bin/cosched").read_text()
    assert script.startswith("#!/opt/cosched/bin/python")  # not where it was built

    python = root / VENV / "bin/python3"
    assert os.readlink(python) == DEBIAN_PYTHON
    assert run(python, root / VENV / "bin/cosched", "--version", cwd=tmp_path) == f"cosched {VERSION}\n"
    code = "from cosched.installation.extras import missing; print(*missing('scheduler'))"
    assert run(python, "-c", code, cwd=tmp_path).split() == list(PACKAGES[SCHEDULER])
    hook = root / "usr/share/cosched/deploy/slurm/hooks/prolog"
    assert hook.stat().st_mode & 0o777 == 0o755


@pytest.mark.soak
@pytest.mark.skipif(shutil.which("rpmbuild") is None, reason="rpmbuild is not installed (Debian: rpm)")
def test_an_rpm_package_of_a_service_beside_slurm(tmp_path):
    package = run("sh", "deploy/rpm/build.sh", tmp_path).split()[-1]
    root = tmp_path / "root"
    root.mkdir()
    assert run("rpm", "--query", "--package", "--queryformat", "%{name} %{version}", package) == f"cosched {VERSION}"
    run("sh", "-c", f"rpm2archive - < {package} | tar -xz", cwd=root)
    assert os.readlink(root / "usr/bin/cosched") == "/opt/cosched/bin/cosched"
    assert (root / "usr/lib/systemd/system/cosched@.service").read_text() == (
        TOP / "deploy/cosched@.service"
    ).read_text()
    assert (root / VENV / "bin/cosched").read_text().startswith("#!/opt/cosched/bin/python")
    said = run(root / VENV / "bin/python3", root / VENV / "bin/cosched", "--version", cwd=tmp_path)
    assert said == f"cosched {VERSION}\n"
    assert os.access(root / "usr/share/cosched/deploy/slurm/hooks/prolog", os.X_OK)
