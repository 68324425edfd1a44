"""`cosched files`, and what a wheel has."""

import os
import shutil
import subprocess
import sys
import tomllib
from email.parser import Parser
from pathlib import Path
from zipfile import ZipFile

import pytest

from cosched.installation.extras import DISTRIBUTION
from tests.cli.conftest import tree

TOP = Path(__file__).parents[2]
DEPLOY = TOP / "deploy"
EXTRAS = tomllib.loads((TOP / "pyproject.toml").read_text())["project"]["optional-dependencies"]
LISTED = [line.split()[0] for line in (DEPLOY / "FILES").read_text().splitlines() if not line.startswith("#")]


def same(folder: Path) -> bool:
    """Whether a folder has the listed files and no others, with their modes."""
    return tree(folder) == sorted(LISTED) and all(
        (folder / name).read_bytes() == (TOP / name).read_bytes()
        and (folder / name).stat().st_mode & 0o777 == (0o755 if os.access(TOP / name, os.X_OK) else 0o644)
        for name in LISTED
    )


def test_files_are_written_and_explained(cosched, tmp_path):
    said = cosched("files", "out").stdout
    assert same(tmp_path / "out")
    assert [line.split()[0] for line in said.splitlines()] == LISTED
    assert all(len(line.split()) > 1 for line in said.splitlines())


def test_the_hooks_and_units_are_among_them():
    folders = ("deploy/slurm/hooks", "deploy/pbs/hooks")
    of_hooks = {f"{folder}/{path.name}" for folder in folders for path in (DEPLOY.parent / folder).iterdir()}
    units = {f"deploy/{path.name}" for pattern in ("*.service", "*.conf") for path in DEPLOY.glob(pattern)}
    assert of_hooks | units | {"deploy/after-restore.sql", "docs/operating.md", "docs/slurm.md"} <= set(LISTED)


def test_nothing_is_written_over_unless_forced(cosched, refused, tmp_path):
    changed = tmp_path / "out/deploy/slurm/intrepid.toml"
    changed.parent.mkdir(parents=True)
    changed.write_text("mine")
    assert refused("files", "out") == "out/deploy/slurm/intrepid.toml: exists already; --force overwrites it"
    assert tree(tmp_path / "out") == ["deploy/slurm/intrepid.toml"]
    assert changed.read_text() == "mine"
    cosched("files", "out", "--force")
    assert same(tmp_path / "out")


def test_a_file_in_the_way(refused, tmp_path):
    (tmp_path / "out").write_text("")
    assert refused("files", "out", exit_code=1).startswith("out")


def test_another_project_of_that_name(tmp_path):
    """As it is left when the package index's `cosched` was installed after ours."""
    shutil.copytree(TOP / "cosched", tmp_path / "cosched", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "cosched/__init__.py").write_text('__version__ = "0.0.0"\n')
    command = [sys.executable, "-c", "from cosched.cli.main import main; main(prog_name='cosched')", "--version"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.count("\n") == 1
    assert "cosched/__init__.py: another project's cosched was installed over this one: pip uninstall" in ran.stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """The wheel of a copy of the tree."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(["sh", "deploy/copy-sources.sh", str(folder / "tree")], cwd=TOP, check=True)
    pip(folder, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(folder / "tree"))
    (wheel,) = folder.glob("*.whl")
    return wheel


def pip(folder: Path, *arguments: str) -> None:
    command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "warning" not in ran.stderr.replace("WARNING: Location", "").lower(), ran.stderr


@pytest.mark.soak
def test_the_wheel_has_all_of_the_packages_and_the_files(wheel: Path):
    assert wheel.name == f"{DISTRIBUTION}-0.1.0-py3-none-any.whl"
    with ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
        metadata = Parser().parsestr(archive.read(f"{DISTRIBUTION}-0.1.0.dist-info/METADATA").decode())
    sources = {
        str(file.relative_to(TOP / top))
        for top in ("", "adapters")
        for file in (TOP / top).glob("cosched*/**/*")
        if file.is_file() and file.parent.name != "__pycache__"
    }
    assert names == sources | {f"cosched/files/{name}" for name in ["deploy/FILES", *LISTED]}
    assert metadata["Name"] == DISTRIBUTION
    assert metadata.get_all("Provides-Extra") == list(EXTRAS)


@pytest.mark.soak
def test_an_installed_wheel_writes_the_same_files(wheel: Path, tmp_path):
    pip(tmp_path, "install", "--no-deps", "--no-index", "--target", str(tmp_path / "lib"), str(wheel))
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "lib")}
    command = [str(tmp_path / "lib/bin/cosched"), "files", "out"]
    subprocess.run([sys.executable, *command], cwd=tmp_path, env=environment, check=True, stdout=subprocess.DEVNULL)
    assert same(tmp_path / "out")
