"""What works without the packages of the extras, and what is said of what does not."""

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from importlib.metadata import entry_points
from itertools import chain
from pathlib import Path

import pytest

from cosched.cli.commands import BROUGHT, OWN
from cosched.installation.extras import DASK, DISTRIBUTION, HOST, PACKAGES, PAGE, SCHEDULER, SIMULATOR, TOKENS
from cosched.schedulers.loading import OF_PAPERS
from cosched_adapters.loading import GROUP
from tests.cli.test_commands import install
from tests.live.services import COMMAND, Service, free_port

TOP = Path(__file__).parents[2]
RECORDED = TOP / "tests/adapters/slurm/recorded"
BY_IMPORT = {"pillow": "PIL", "pyjwt": "jwt"}  # packages that the index calls otherwise
OTHERS = {"cosched_papers", "cosched_sim"}
RUN_ALL = """
import json, sys
from click.testing import CliRunner
from cosched.cli.main import main
ran = [CliRunner().invoke(main, line) for line in json.load(sys.stdin)]
print(json.dumps([(one.exit_code, one.stdout, one.stderr) for one in ran]))
"""


def hiding(folder: Path, packages: Iterable[str]) -> dict[str, str]:
    """The environment of processes for which these packages are not there, nor in processes that they start."""
    customize = f"import sys\nsys.modules.update(dict.fromkeys({sorted(packages)}))\n"
    (folder / "sitecustomize.py").write_text(customize)
    return {**os.environ, "PYTHONPATH": str(folder)}


@pytest.fixture
def bare(tmp_path: Path) -> dict[str, str]:
    """The environment of processes for which nothing of an extra is there, nor in processes that they start."""
    folder = tmp_path / "bare"
    folder.mkdir()
    for other in ("sim", "papers"):
        install(folder, f"{DISTRIBUTION}_{other}", "")
    return hiding(folder, {*chain(*PACKAGES.values()), *OTHERS})


def run_all(lines: list[list[str]], environment: dict[str, str], folder: Path) -> list[tuple[int, str, str]]:
    """Exit code, standard output and standard error of each command line."""
    ran = subprocess.run(
        [sys.executable, "-c", RUN_ALL],
        input=json.dumps(lines), cwd=folder, env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [tuple(one) for one in json.loads(ran.stdout)]


def test_every_command_has_help_without_any_extra(bare: dict[str, str], tmp_path: Path) -> None:
    lines = [[name, "-h"] for name in OWN]
    for line, (code, out, err) in zip(lines, run_all(lines, bare, tmp_path), strict=True):
        assert (code, err) == (0, ""), line
        assert out.startswith("Usage:"), line


def test_a_command_of_the_simulator_asks_for_it_in_one_line(bare: dict[str, str], tmp_path: Path) -> None:
    lines = [[name, "-h"] for name in BROUGHT]
    for (name, _), found in zip(lines, run_all(lines, bare, tmp_path), strict=True):
        said = f"cosched: {name} is a command of the simulator: pip install '{DISTRIBUTION}[sim]'\n"
        assert found == (2, "", said)


@pytest.fixture
def local(tmp_path: Path) -> str:
    """The configuration of a domain that schedules by itself."""
    (tmp_path / "domain.toml").write_text(
        f'[domain]\nname = "a"\nlisten = "127.0.0.1:{free_port()}"\nplaintext = true\nstate = "state.db"\n'
        '[manager]\nkind = "local"\nslots = 2\n'
    )
    return "domain.toml"


def test_a_domain_that_schedules_by_itself_asks_for_its_extra(bare: dict[str, str], local: str, tmp_path: Path) -> None:
    lines = [["serve", "--config", local], ["serve", "--config", local, "--check"]]
    said = f"cosched: the embedded scheduler needs numba, numpy: pip install '{DISTRIBUTION}[{SCHEDULER}]'\n"
    assert run_all(lines, bare, tmp_path) == [(2, "", said)] * 2
    assert not (tmp_path / "state.db").exists()


def test_doctor_says_that_the_scheduler_is_missing(bare: dict[str, str], local: str, tmp_path: Path) -> None:
    ((code, out, _),) = run_all([["doctor", "--config", local, "--json"]], bare, tmp_path)
    (finding,) = [one for one in json.loads(out)["findings"] if one["subject"] == "embedded scheduler"]
    assert code == 2
    assert finding["found"] == "numba, numpy: not installed"
    assert finding["lines"] == [f"pip install '{DISTRIBUTION}[{SCHEDULER}]'"]


@pytest.mark.sim
def test_after_make_demo_commands_say_what_is_not_installed(tmp_path: Path) -> None:
    log = "a,trace=generated:eureka/days=1"
    lines = [["report", "run"], ["sweep", "grid.toml"], ["study", "reference"], ["demo", "--out", "kept"]]
    lines += [["replay", "--domain", log, "--out", "run"], ["replay", "--domain", log]]
    hidden = ", ".join(PACKAGES[SIMULATOR])
    *refused, replayed = run_all(lines, hiding(tmp_path, PACKAGES[SIMULATOR]), tmp_path)
    assert refused == [(2, "", f"cosched: this command needs {hidden}: pip install '{DISTRIBUTION}[sim]'\n")] * 5
    assert replayed[0] == 0, "it writes no files, and needs none of them"
    assert not (tmp_path / "kept").exists()


@pytest.fixture
def without_papers(tmp_path: Path) -> dict[str, str]:
    """The environment of processes for which the schedulers of papers are not installed."""
    install(tmp_path, f"{DISTRIBUTION}_papers", "")
    return {**os.environ, "PYTHONPATH": str(tmp_path)}


def not_installed(key: str, kind: str) -> tuple[int, str, str]:
    return 2, "", f"cosched: {key}: {kind} is not installed, only batch: pip install '{DISTRIBUTION}[papers]'\n"


def test_a_service_asks_for_the_package_of_its_scheduler(without_papers: dict[str, str], local: str, tmp_path: Path):
    lines = []
    for kind in OF_PAPERS:
        (tmp_path / f"{kind}.toml").write_text(
            (tmp_path / local).read_text() + f'scheduler = "{kind}"\nbenefit = true\n'
        )
        lines.append(["serve", "--config", f"{kind}.toml", "--check"])
    found = run_all(lines, without_papers, tmp_path)
    assert found == [not_installed(f"{kind}.toml:manager.scheduler", kind) for kind in OF_PAPERS]
    assert not (tmp_path / "state.db").exists()


def test_a_service_asks_for_the_package_of_its_manager(local: str, tmp_path: Path) -> None:
    install(tmp_path, f"{DISTRIBUTION}_sim", "")
    (tmp_path / "replay.toml").write_text((tmp_path / local).read_text().replace('"local"', '"replay"'))
    without_simulator = {**os.environ, "PYTHONPATH": str(tmp_path)}
    known = ", ".join(sorted(entry.name for entry in entry_points(group=GROUP) if entry.name != "replay"))
    missing = f"replay is not installed, only {known}: pip install '{DISTRIBUTION}[sim]'"
    lines = [["serve", "--config", "replay.toml", "--check"], ["doctor", "--config", "replay.toml"]]
    serve, (_, out, _) = run_all(lines, without_simulator, tmp_path)
    assert serve == (2, "", f"cosched: replay.toml:manager.kind: {missing}\n")
    assert missing in out


@pytest.mark.sim
def test_a_replay_asks_for_the_package_of_its_scheduler(without_papers: dict[str, str], tmp_path: Path) -> None:
    lines = [["replay", "--domain", f"a,trace=a.swf,sizing=none,scheduler={kind}"] for kind in OF_PAPERS]
    (_, told, _), *found = run_all([["replay", "-h"], *lines], without_papers, tmp_path)
    assert found == [not_installed("--domain a:scheduler", kind) for kind in OF_PAPERS]
    assert f"{', '.join(OF_PAPERS)}: pip install '{DISTRIBUTION}[papers]'" in " ".join(told.split())


@pytest.fixture
def beside_slurm(bare: dict[str, str], tmp_path: Path) -> Iterator[Service]:
    """A domain whose Slurm has no jobs; it says what a Slurm once said."""
    commands = tmp_path / "bin"
    commands.mkdir()
    for command, printed in {"squeue": "/dev/null", "scontrol": "config.txt", "sinfo": "machine-nodes.txt"}.items():
        path = commands / command
        path.write_text(f"#!/bin/sh\nexec cat {RECORDED / printed}\n")
        path.chmod(0o755)
    service = Service(tmp_path / "slurm", "slurm")
    service.wrapper = COMMAND
    service.config["manager"] = {"kind": "slurm", "bin": str(commands), "hook_socket": str(tmp_path / "hooks")}
    service.environment |= bare
    yield service
    service.clear()


def test_a_service_beside_slurm_needs_no_extra(beside_slurm: Service, tmp_path: Path) -> None:
    beside_slurm.start()
    config = str(beside_slurm.folder / "config.toml")
    environment = {**beside_slurm.environment, "COSCHED_SERVER": beside_slurm.socket}
    lines = [
        *([name, "--json"] for name in ("queue", "pairs", "nodes", "domains")),
        ["serve", "--config", config, "--check"],
        ["certs", "init", "certs", "--site", "example"],
        ["certs", "issue", "certs", "a", "--host", "localhost"],
    ]
    for line, (code, out, err) in zip(lines, run_all(lines, environment, tmp_path), strict=True):
        assert code == 0, (line, out, err)
    unknown = [[name, "1"] for name in ("show", "cancel", "release", "unlink")] + [["link", "1", "b:1"]]
    for line, (code, _, err) in zip(unknown, run_all(unknown, environment, tmp_path), strict=True):
        assert code == (2 if line[0] == "link" else 1), line  # there is no domain b
        assert err.count("\n") == 1, line
    ((_, out, _),) = run_all([["doctor", "--config", config, "--json"]], environment, tmp_path)
    assert {finding["group"] for finding in json.loads(out)["findings"]} >= {"service", "slurm", "coscheduling"}


def test_packages_are_those_of_the_extras() -> None:
    project, simulator = (tomllib.loads((TOP / f"{at}pyproject.toml").read_text())["project"] for at in ("", "sim/"))
    assert project["name"] == DISTRIBUTION

    def named(requirements: list[str]) -> set[str]:
        return {re.split(r"[<>=\[;]", requirement)[0] for requirement in requirements}

    for extra, of in {SCHEDULER: project, DASK: simulator, HOST: project, PAGE: project, TOKENS: project}.items():
        names = {BY_IMPORT.get(name, name) for name in named(of["optional-dependencies"][extra])}
        assert names == set(PACKAGES[extra]), extra
    assert not named(project["dependencies"]) & named(simulator["dependencies"]) - {DISTRIBUTION}
    brought = {BY_IMPORT.get(name, name) for name in named(simulator["dependencies"]) - {DISTRIBUTION}}
    assert brought == set(PACKAGES[SIMULATOR])
