"""Everything on the page for sites works as written, and prints what it shows."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

from cosched_adapters.slurm.comments import ARRAY
from cosched_adapters.slurm.settings import SlurmSettings
from deploy.lab.service import cosched
from deploy.slurm.lab import CoupledLab, LabError, wait_for
from tests.docs.terminals import Block, Terminal, assert_prints_what_is_shown
from tests.slurm.cosched_hooks import check_for_compiler

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "deploy" / "slurm"
PAGE, HOOKS, EXAMPLE = ROOT / "docs" / "slurm.md", FOLDER / "hooks" / "README.md", FOLDER / "intrepid.toml"
JOB = "#!/bin/sh\n#SBATCH --output=/dev/null\ndate +%T.%N\nsleep 1\n"
LOOKING = {"squeue", "cosched queue", "cosched show", "cosched pairs"}  # what may be asked again until it is so
PATIENCE = 600.0  # seconds; a safety net
# Where a reader sleeps before a look, until there is what is to be seen; the jobs' sleep lasts until it has been seen.
SLEEP = """#!/bin/sh
[ "$1" != 5 ] || exec /bin/sleep 1000
state=HO
[ -z "$(SLURM_CONF=$LAB_DIR/eureka/slurm.conf squeue -h)" ] || state=R
until cosched pairs | grep -q " $state " && { [ $state = HO ] || [ -s slurm-1.out ]; }; do /bin/sleep 0.2; done
"""
SETUP = "/etc/slurm/cosched"


def section(page: Path, title: str) -> str:
    found = page.read_text(encoding="utf-8").partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    assert found, title
    return found


def tour() -> list[tuple[str, Block]]:
    """The blocks of what users write, each with the domain where it is typed."""
    fenced = re.finditer(r"```sh\n# (\w+)\n(.*?)```\n(?:\n```text\n(.*?)```)?", section(PAGE, "What users write"), re.S)
    return [(match[1], Block("sh", match[2], match[3] or "")) for match in fenced]


def lines_of_slurm_conf() -> list[str]:
    (found,) = re.findall(r"```ini\n(.*?)```", section(PAGE, "Installing"), re.DOTALL)
    return [line for line in found.splitlines() if not line.startswith("#")]


@pytest.fixture(scope="module")
def lab() -> Iterator[CoupledLab]:
    """Two domains, with the page's lines in slurm.conf but for where the hooks are."""
    check_for_compiler()
    lines = tuple(line for line in lines_of_slurm_conf() if SETUP not in line)
    options = {"lines": lines, "job_submit": FOLDER / "hooks" / "job_submit.lua"}
    with CoupledLab(schemes=("hold", "yield"), gate=False, options=options) as made:
        yield made


@pytest.fixture
def terminals(lab: CoupledLab, tmp_path: Path) -> Iterator[dict[str, Terminal]]:
    (tmp_path / "job.sh").write_text(JOB)
    opened = {domain.name: Terminal(tmp_path, domain.name) for domain in lab}
    for domain in lab:
        conf, server = domain.cluster.conf, domain.service.server
        opened[domain.name].run(f"export SLURM_CONF={conf} COSCHED_SERVER={server}")
    yield opened
    for terminal in opened.values():
        terminal.close()
    lab.clear()


def only_looks(block: Block) -> bool:
    return all(any(line.startswith(command) for command in LOOKING) for line in block.code.splitlines())


def prints_what_is_shown(terminal: Terminal, block: Block) -> str:
    """Empty if it does, else what is missing."""
    try:
        assert_prints_what_is_shown(block, terminal.run(block.code))
    except AssertionError as error:
        return str(error)
    return ""


@pytest.mark.soak  # the commands of the README remain
def test_the_tour_works_as_written(terminals):
    blocks = tour()
    assert {name for name, _ in blocks} == set(terminals)
    for name, block in blocks:
        missing = []

        def is_so(terminal=terminals[name], block=block, missing=missing):
            missing[:] = [prints_what_is_shown(terminal, block)]
            return not missing[0] or not only_looks(block)

        try:
            wait_for(is_so, block.code, PATIENCE, interval=0.2)
        except LabError as error:
            pytest.fail(f"{missing[0]}\n{error}")
        assert not missing[0]


def test_the_tour_shows_what_matters():
    shown = "".join(block.shown for _, block in tour())
    for word in (" CF ", " HO ", "(BeginTime)", "yields: its mate is not submitted yet"):
        assert word in shown


def test_what_slurm_refuses_is_quoted_as_it_is_said(lab):
    assert ARRAY in section(PAGE, "What users write")
    with pytest.raises(LabError, match=ARRAY):
        lab["eureka"].cluster.sbatch("true", "--array=1-2", "--comment=cosched:mate=intrepid/1")


def test_the_doctor_has_nothing_to_say_against_the_lines_of_slurm_conf(lab):
    domain = lab["intrepid"]
    assert {line.partition("=")[0] for line in lines_of_slurm_conf()} <= {
        line.partition("=")[0] for line in domain.cluster.conf.read_text().splitlines()
    }
    config = str(domain.service.folder / "cosched.toml")
    found = json.loads(domain.service.try_run("doctor", "--config", config, "--json").stdout)["findings"]
    slurm = {(finding["grade"], finding["subject"]) for finding in found if finding["group"] == "slurm"}
    assert {subject for grade, subject in slurm if grade != "ok"} <= {"restarts"}  # newer Slurms forget holds by them
    assert {"PrologSlurmctld", "JobCompLoc", "batch_sched_delay", "bf_interval", "JobRequeue"} <= {s for _, s in slurm}


def test_the_example_passes_the_check(tmp_path):
    authority = tmp_path / "authority"
    run(cosched(), "certs", "init", authority, "--site", "example")
    run(cosched(), "certs", "issue", authority, "intrepid", "--host", "intrepid.example.org")
    conf = tmp_path / "slurm.conf"
    conf.write_text("\n".join(lines_of_slurm_conf()))
    places = {"/etc/cosched/tls": authority, "/var/lib/cosched": tmp_path, "/run/cosched": tmp_path}
    text = EXAMPLE.read_text()
    for there, here in {**places, "/etc/slurm/slurm.conf": conf}.items():
        assert there in text
        text = text.replace(there, str(here))
    copy = tmp_path / "intrepid.toml"
    copy.write_text(text)
    said = run(cosched(), "serve", "--config", copy, "--check")
    assert re.search(r"manager +slurm", said)
    assert "warning" not in said


def test_the_example_names_every_setting_with_its_default():
    text = EXAMPLE.read_text()
    manager = tomllib.loads(re.sub(r"^# (?=\w+ = )", "", text.partition("\n[manager]\n")[2], flags=re.MULTILINE))
    own = {"gates", "gate_patience", "gate_port", "hold_time", "without_service"}  # `cosched up` writes these
    known = {field.name: field.default for field in fields(SlurmSettings) if field.name not in own}
    assert manager.keys() == {"kind", *known}
    for key in manager.keys() - {"kind", "conf", "bin", "hook_socket", "gate_folder", "waiting_folder"}:
        assert manager[key] == known[key]


def test_socket_and_folder_of_hooks_and_service_are_the_same():
    conf, example = (FOLDER / "hooks" / "cosched.conf").read_text(), EXAMPLE.read_text()
    (socket,) = re.findall(r"^socket=(.*)$", conf, re.MULTILINE)
    assert tomllib.loads(example)["manager"]["hook_socket"] == socket
    assert socket in PAGE.read_text()
    (waiting,) = re.findall(r"^waiting=(.*)$", conf, re.MULTILINE)
    assert tomllib.loads(example)["manager"]["waiting_folder"] == waiting
    assert waiting in PAGE.read_text()
    (gates,) = re.findall(r"^#gates=(.*)$", conf, re.MULTILINE)
    for text in (example, PAGE.read_text(), (FOLDER / "slurm-user.conf").read_text()):
        assert gates in text


def test_the_hooks_are_installed_as_written(tmp_path):
    check_for_compiler()
    sources, target = tmp_path / "hooks", tmp_path / "installed"
    shutil.copytree(FOLDER / "hooks", sources)
    commands = re.findall(r"^    ((?:cc|install) .*)$", section(HOOKS, "Installing"), re.MULTILINE)
    assert len(commands) == 4
    for command in commands:
        run("sh", "-c", command.replace(SETUP, str(target)), folder=sources)
    assert {path.name for path in target.iterdir()} == {
        *("cosched-hook", "prolog", "task-prolog", "jobcomp", "cosched.conf", "job_submit.lua")
    }
    run(target / "prolog", folder=tmp_path)  # a job without a comment passes


def run(*command: object, folder: Path | None = None) -> str:
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, timeout=PATIENCE, check=False, cwd=folder
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_commands_of_the_readme_do_what_it_says(tmp_path: Path) -> None:
    """Those of its section on Slurm, in a shell in the laboratory, as written."""
    check_for_compiler()
    text = section(ROOT / "README.md", "A first pair on Slurm").partition("```text")[0]
    demo, laboratory, *commands = re.findall(r"^    (\S.*)$", text, re.MULTILINE)
    assert demo.startswith("make slurm-demo")
    *argv, shell = shlex.split(laboratory)
    assert shell == "bash"
    (tmp_path / "sleep").write_text(SLEEP)
    (tmp_path / "sleep").chmod(0o755)
    path = os.pathsep.join([str(tmp_path), str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        [*argv, shell, "-c", "\n".join(commands)],
        cwd=ROOT, env={**os.environ, "PATH": path}, capture_output=True, text=True, timeout=2 * PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for line in (
        r" +1 +main +wrap +\S+ CF .*",
        r" +1 +wrap +\S+ +HO .*\(MateUnsubmitted\) +run7@eureka",
        r" +1 +wrap +\S+ +R .* eureka:1 .*",
        r"\d\d:\d\d:\d\d\.\d+",
    ):
        assert re.search(f"^{line}$", done.stdout, re.MULTILINE), done.stdout
