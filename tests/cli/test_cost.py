"""What a run of the command loads, and the memory that writing takes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import swf

MILLION = """
import resource, sys, time
from cosched_sim import Domain, replay
from cosched_sim.workload.generate import generate
from cosched_sim.results.output import RunInfo, write_run

result = replay([Domain(name="eureka", trace=generate("eureka", jobs=1_000_000, seed=1), nodes=100)])
result.frame("eureka", slice(0, 1)).write_csv()  # so that polars is loaded
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
write_run(result, sys.argv[1], RunInfo("", 0, time.perf_counter()))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


SERVING = """
import json, os, sys
from cosched.service import systemd

def notify(told):
    if told.startswith("READY=1"):
        print(json.dumps(sorted(sys.modules)), flush=True)
        os._exit(0)

systemd.notify = notify
from cosched.cli.main import main
sys.argv = ["cosched", "serve", "--config", sys.argv[1]]
main()
"""
IDLE = """
import asyncio
from cosched_adapters.batch_system import BatchSystem, BatchSystemFactory

class Idle(BatchSystem):
    nodes, start_lead, mate_field = 8, 0.0, "wish"

    async def open(self):
        return {}

    async def reports(self):
        await asyncio.Event().wait()
        yield

    async def close(self):
        pass

create = BatchSystemFactory(lambda domain, directory, settings: Idle())
"""


def loaded_before_it_serves(folder: Path, manager: str) -> set[str]:
    """The modules that a service has loaded when it begins to serve; `manager`: its section."""
    config, site = folder / "a.toml", folder / "idle-1.dist-info"
    domain = 'name = "a"\nlisten = "127.0.0.1:0"\nplaintext = true\nstate = "a.db"\n'
    config.write_text(f"[domain]\n{domain}[manager]\n{manager}\n")
    site.mkdir()
    (site / "entry_points.txt").write_text("[cosched.adapters]\nidle = idle:create\n")
    (folder / "idle.py").write_text(IDLE)
    command = [sys.executable, "-c", SERVING, str(config)]
    run = subprocess.run(
        command, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": str(folder)}
    )
    return set(json.loads(run.stdout))


def test_a_service_loads_only_what_it_serves_with(tmp_path):
    """What is loaded is how long a restart takes: `python -m tests.bench.restart` measures that."""
    (tmp_path / "beside").mkdir()
    (tmp_path / "own").mkdir()
    beside = loaded_before_it_serves(tmp_path / "beside", 'kind = "idle"')
    own = loaded_before_it_serves(tmp_path / "own", 'kind = "local"\nslots = 4')
    packages = {"rich", "pandas", "polars", "scipy.linalg", "starlette", "jinja2"}
    assert sorted((packages | {"cosched.client", "cosched_sim.engine"}) & (own | beside)) == []
    assert not {"numpy", "numba", "llvmlite"} & beside
    assert len(beside) < 1100
    numbers = "cosched_papers.molding.kernels.times"  # its kind needs these, too
    kernels = {name.partition(".kernels")[0] for name in own - {numbers} if ".kernels." in name}
    assert kernels <= {"cosched.core.scheduling.batch", "cosched.core.scheduling.primitives"}
    assert len(own) < 1700


HEAVY = {"numpy", "numba", "numba.cpython.unicode", "polars", "pydantic", "rich"}


def run_by(*arguments: str) -> tuple[set[str], int]:
    """The modules that a run of the command loads, and how often it looks for garbage."""
    code = (
        "import gc, sys\nfrom cosched.cli.main import main\nsys.argv = ['cosched', *sys.argv[1:]]\n"
        "looks = lambda: sum(generation['collections'] for generation in gc.get_stats())\nbefore = looks()\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print(looks() - before, *sys.modules, file=sys.stderr)"
    )
    run = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    looks, *loaded = run.stderr.splitlines()[-1].split()
    return set(loaded), int(looks)


def loaded_by(*arguments: str) -> set[str]:
    """The heavy packages that a run of the command loads."""
    return run_by(*arguments)[0] & HEAVY


def test_help_loads_nothing_heavy():
    """Times are measured by `make bench`; here only what costs time."""
    assert loaded_by("--help") == set()


def test_a_list_of_jobs_loads_neither_rules_nor_words_that_it_does_not_show():
    loaded, _ = run_by("queue", "--help")
    assert "cosched.client.jobs" in loaded
    assert not loaded & (HEAVY | {"cosched.core", "cosched.words.reasons", "fractions", "tomllib"})


@pytest.mark.sim
def test_looking_at_a_trace_needs_no_compiler(tmp_path):
    (tmp_path / "a.swf").write_text(swf((1, 0, 10, 1)))
    assert loaded_by("trace", "info", "--json", str(tmp_path / "a.swf")) <= {"numpy"}


def test_garbage_is_looked_for_as_usual_once_a_process_has_made_many_objects():
    code = (
        "import gc\nfrom cosched.host.garbage import STARTING, look_later\nusual = gc.get_threshold()\nlook_later()\n"
        "few = [[] for _ in range(STARTING // 2)]\nassert gc.get_threshold() != usual\n"
        "many = [[] for _ in range(STARTING)]\nassert gc.get_threshold() == usual\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.sim
def test_a_short_replay_loads_no_types_of_numba_no_data_frames_and_looks_for_no_garbage(traces, tmp_path):
    """Each would take a tenth of a second, of some 0.6 s in all."""
    replay = "replay", "--domain", f"a,trace={traces / 'lublin_256.swf.gz'},cut=0..1d", "--no-report", "--out"
    run_by(*replay, str(tmp_path / "first"))  # compiles what is not compiled yet
    loaded, looks = run_by(*replay, str(tmp_path / "second"))
    assert loaded & HEAVY == {"numpy", "numba", "pydantic", "rich"}
    assert looks == 0


@pytest.mark.sim
@pytest.mark.soak
def test_a_million_jobs_are_written_with_little_memory(tmp_path):
    run = subprocess.run(
        [sys.executable, "-c", MILLION, tmp_path / "run"], capture_output=True, text=True, check=True, timeout=600
    )
    assert int(run.stdout) * 1024 / 1_000_000 < 60
    with open(tmp_path / "run/jobs.csv") as stream:
        assert sum(1 for _ in stream) == 1_000_001
