"""What is handed out: source distributions, and the wheels in environments that have nothing else of the tree."""

import re
import sys
import tarfile
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import yaml

from cosched.installation.extras import DISTRIBUTION
from cosched.version import VERSION
from tests.deploy.conftest import TOP, environment, run, the
from tests.docs.terminals import Block
from tests.docs.test_pages_run import README, other_ports, ports, terminals, works_as_written  # noqa: F401
from tests.live import services
from tests.live.services import Service

PROJECTS = {folder: tomllib.loads((TOP / folder / "pyproject.toml").read_text()) for folder in ("", "sim", "papers")}
LICENSE = "Apache-2.0"
SERVICE_MB = 110  # of a service beside a batch system, with all that it needs


def sources(project: dict[str, Any], folders: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """The files of the packages in these folders that are no modules: the package of each, and the path from there."""
    data = project["tool"]["setuptools"]["package-data"]
    for folder in folders:
        for file in filter(Path.is_file, (TOP / folder).glob("cosched*/**/*")):
            path = file.relative_to(TOP / folder)
            if path.suffix != ".py" and path.parent.name != "__pycache__":
                owners = [".".join(parent.parts) for parent in path.parents if ".".join(parent.parts) in data]
                owner = owners[0] if owners else ""
                yield owner, str(path.relative_to(Path(*owner.split("."))))


@pytest.mark.parametrize("name", PROJECTS)
def test_every_file_of_a_distribution_is_declared(name: str) -> None:
    data = PROJECTS[name]["tool"]["setuptools"]["package-data"]
    files = [*sources(PROJECTS[name], (name,) if name else ("", "adapters"))]
    assert ("_".join(filter(None, ["cosched", name])), "py.typed") in files
    assert [each for each in files if not any(fnmatch(each[1], one) for one in data.get(each[0], ()))] == []


@pytest.mark.parametrize("name", PROJECTS)
def test_a_distribution_says_what_it_is(name: str) -> None:
    project = PROJECTS[name]["project"]
    assert project["name"] == "-".join(filter(None, [DISTRIBUTION, name]))
    assert (project["version"], project["license"]) == (VERSION, LICENSE)
    assert project["classifiers"] == sorted(project["classifiers"])
    assert "Typing :: Typed" in project["classifiers"]
    minimum = project["requires-python"].removeprefix(">=")
    assert f"Programming Language :: Python :: {minimum}" in project["classifiers"]


def test_distributions_are_installed_in_one_version() -> None:
    for project in PROJECTS.values():
        extras = project["project"].get("optional-dependencies", {}).values()
        for requirement in (*project["project"]["dependencies"], *chain.from_iterable(extras)):
            if requirement.startswith(f"{DISTRIBUTION}-") or "==" in requirement.partition(DISTRIBUTION)[2]:
                assert requirement.endswith(f"=={VERSION}"), requirement


def test_how_to_cite_it_is_said_of_this_version() -> None:
    cited = yaml.load((TOP / "CITATION.cff").read_text(), yaml.BaseLoader)
    assert (cited["version"], cited["license"]) == (VERSION, LICENSE)
    bibtex = re.search(r"```bibtex\n(.*?)```", (TOP / "docs" / "simulator.md").read_text(), re.DOTALL)
    assert bibtex is not None
    assert dict(re.findall(r"(\w+) += \{+([^{}]*)\}", bibtex[1].partition("@inproceedings")[0])) == {
        "author": cited["authors"][0]["name"], "title": cited["title"], "version": VERSION,
    }  # fmt: skip
    (paper,) = cited["references"]
    authors = [f"{author['family-names']}, {author['given-names']}" for author in paper["authors"]]
    for said in (" and ".join(authors), paper["title"], paper["collection-title"], paper["year"]):
        assert said in bibtex[1].partition("@inproceedings")[2]


@pytest.mark.soak
def test_a_source_distribution_has_what_a_developer_of_a_package_needs(made: Path) -> None:
    with tarfile.open(the("coscheduling-*.tar.gz", made)) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert names >= {
        "LICENSE", "README.md", "CHANGELOG.md", "CITATION.cff", "docs/operating.md", "proto/cosched/v1/domain.proto",
    }  # fmt: skip
    assert not [name for name in names if "__pycache__" in name]


@pytest.mark.soak
def test_a_source_distribution_installs_what_the_wheel_does(made: Path, tmp_path: Path) -> None:
    for kind in ("*.whl", "*.tar.gz"):
        pip = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-build-isolation", "--target", kind[2:]]
        run(tmp_path, *pip, *made.glob(kind))
    listed = [
        {str(path.relative_to(tmp_path / kind)) for path in (tmp_path / kind).glob("cosched*/**/*.[!p]*")}
        for kind in ("whl", "tar.gz")
    ]
    assert listed[0] == listed[1] != set()


@pytest.mark.soak
def test_a_service_alone_is_small_and_has_no_simulator(made: Path, tmp_path: Path) -> None:
    found = environment(tmp_path, made, "")
    (packages,) = tmp_path.glob("venv/lib/python3*/site-packages")
    names = {path.name.partition("-")[0] for path in packages.iterdir()}
    assert {"cosched", "cosched_adapters", "grpc"} <= names
    assert not names & {"cosched_sim", "cosched_papers", "matplotlib", "numba", "polars", "scipy"}
    assert "replay" not in run(tmp_path, found / "cosched", "-h")
    ours = (path for path in packages.rglob("*") if path.is_file() and path.relative_to(packages).parts[0] != "pip")
    size = sum(path.stat().st_size for path in ours) / 1e6
    assert size <= SERVICE_MB, f"{size:.0f} MB"


@pytest.mark.soak
def test_all_commands_have_help(installed: Path, tmp_path: Path) -> None:
    assert run(tmp_path, installed / "cosched", "--version") == f"cosched {VERSION}\n"
    commands = re.findall(r"^  ([a-z]+)  +[A-Z]", run(tmp_path, installed / "cosched", "-h"), re.MULTILINE)
    assert {"serve", "replay", "submit", "study"} <= set(commands)
    for command in commands:
        assert run(tmp_path, installed / "cosched", command, "-h").startswith("Usage:"), command


@pytest.mark.soak
def test_the_entry_points_are_found(installed: Path, tmp_path: Path) -> None:
    code = "from importlib.metadata import entry_points\n"
    code += "for group in ('cosched.adapters', 'cosched.commands', 'cosched.schedulers'):\n"
    code += "    for point in entry_points(group=group): print(point.name, point.load() is not None)"
    said = run(tmp_path, installed / "python", "-c", code)
    assert sorted(said.splitlines()) == [
        "batch True", "external True", "fluid True", "gridengine True", "heterogeneous True", "local True",
        "molding True", "pbs True", "replay True", "sim True", "slurm True",
    ]  # fmt: skip


@pytest.mark.soak
def test_the_readme_works_as_written_with_the_wheels(installed: Path, terminals, other_ports) -> None:  # noqa: F811
    run(terminals.folder, installed / "cosched", "compile")  # for as long as it takes
    found = terminals.run(Block("sh", f"export PATH={installed}:$PATH\ncommand -v cosched\n", ""))
    assert found == f"{installed / 'cosched'}\n"
    assert "pairs: 166 of 166 started together\n" in works_as_written(README, terminals, other_ports)[0]


@pytest.mark.soak
def test_the_simulator_works(installed: Path, tmp_path: Path) -> None:
    cosched = installed / "cosched"
    assert "hold" in run(tmp_path, cosched, "demo")
    run(tmp_path, cosched, "trace", "generate", "eureka", "a.swf", "--days", "1")
    run(tmp_path, cosched, "replay", "--domain", "a,trace=a.swf,nodes=100,scheduler=fluid", "--out", "run")
    assert (tmp_path / "run/jobs.csv").exists()
    run(tmp_path, cosched, "report", "run")
    assert "<html" in next((tmp_path / "run").glob("*.html")).read_text()
    run(tmp_path, cosched, "study", "tang2011", "--quick", "--replications", "1", "--days", "3", "--out", "study")
    assert (tmp_path / "study/report.html").exists()


@pytest.mark.soak
def test_a_service_works(installed: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(services, "COMMAND", (str(installed / "cosched"),))
    service = Service(tmp_path / "a", "a")
    service.wrapper = services.COMMAND
    try:
        service.start()
        with service.client() as client:
            job = client.submit("#!/bin/sh\ntrue\n")
            services.wait_until(lambda: client.job(job).state == "completed")
    finally:
        service.clear()
