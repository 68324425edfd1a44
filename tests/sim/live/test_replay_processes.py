"""`cosched replay --live`: services as processes, whose replay equals the simulation to the byte."""

import json
import os
import signal
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cosched.validation.schemes import SchemeChoice
from cosched_sim.configuration import Domain, ReplayConfig
from cosched_sim.live.replaying import LiveReplay
from cosched_sim.workload.generate import generate
from cosched_sim.workload.jobs import Workload
from cosched_sim.workload.traces import clean, machine_nodes, read_trace, write_swf
from tests.live.services import COMMAND, PATIENCE, wait_until
from tests.sim.live.replays import assert_equal

SCHEMES = [(a, b) for a in (SchemeChoice.HOLD, SchemeChoice.YIELD) for b in (SchemeChoice.HOLD, SchemeChoice.YIELD)]
MEETING = [(SchemeChoice.MEET, SchemeChoice.MEET), (SchemeChoice.HOLD, SchemeChoice.MEET)]
DAY = 86400


def first(workload: Workload, jobs: int) -> Workload:
    columns = {name: getattr(workload, name)[:jobs] for name in ("job_id", "submit", "run", "nodes", "requested")}
    return replace(workload, **columns)


def from_day(path: Path, day: int, procs_per_node: int = 1) -> tuple[Workload, int]:
    """What was submitted from then on, and the nodes of the machine."""
    log = read_trace(path)
    nodes = machine_nodes(log, procs_per_node)
    work = clean(log, nodes, procs_per_node)
    rows = slice(int(np.searchsorted(work.submit, day * DAY)), None)
    columns = {name: getattr(work, name)[rows] for name in ("job_id", "run", "nodes", "requested")}
    return replace(work, submit=work.submit[rows] - day * DAY, **columns), nodes


@pytest.mark.parametrize(
    ("schemes", "total"),
    [(SCHEMES[1], 800), *(pytest.param(schemes, 2000, marks=pytest.mark.soak) for schemes in (*SCHEMES, *MEETING))],
    ids=str,
)
def test_jobs_of_two_real_traces(traces, schemes, total):
    intrepid, nodes = from_day(traces / "ANL-Intrepid-2009-1.first3000.swf.gz", 0, procs_per_node=4)
    kth, kth_nodes = from_day(traces / "KTH-SP2-1996-2.swf.gz", 4)
    last = np.sort(np.concatenate([intrepid.submit, kth.submit]))[total]
    jobs = [int(np.searchsorted(work.submit, last)) for work in (intrepid, kth)]
    assert sum(jobs) == pytest.approx(total, abs=1)
    domains = (
        Domain(name="intrepid", trace=first(intrepid, jobs[0]), nodes=nodes, scheme=schemes[0]),
        Domain(name="kth", trace=first(kth, jobs[1]), nodes=kth_nodes, scheme=schemes[1]),
    )
    simulated = assert_equal(ReplayConfig(domains=domains, pair_window=600), LiveReplay)
    assert simulated.pairs["together"] > total / 20
    assert sum(domain.metrics["holds"] + domain.metrics["yields"] for domain in simulated.domains.values()) > total / 20


BUSY = ",cut=56h..60h"  # some hours that are


def month_flags(tmp_path, cut):
    """The flags of a replay of a generated month, or of a part of it."""
    flags = []
    for machine, pool, nodes in (("intrepid", "partitioned:intrepid", 40960), ("eureka", "flat", 100)):
        write_swf(generate(machine, seed=3), tmp_path / f"{machine}.swf", {"MaxNodes": str(nodes)})
        flags += ["--domain", f"{machine},trace={machine}.swf{cut},node_pool={pool}"]
    return [*flags, "--pair-window", "10m"]


@pytest.fixture
def month(tmp_path):
    """The flags of a replay of a busy part of a generated month."""
    return month_flags(tmp_path, BUSY)


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, "replay", *arguments], cwd=folder, capture_output=True, text=True, timeout=5 * PATIENCE
    )


def without_timing(path: Path) -> dict:
    said = json.loads(path.read_text())
    del said["timing"], said["command"]
    return said


@pytest.mark.soak
def test_all_combinations_of_schemes_on_a_part_of_a_generated_month(tmp_path, month):
    for name, flags in (("simulated", []), ("live", ["--live"])):
        done = run(tmp_path, *month, "--compare", "--out", name, "--no-report", *flags)
        assert done.returncode == 0, done.stderr
    folders = sorted(path.name for path in (tmp_path / "simulated").iterdir() if path.is_dir())
    assert folders == ["HH", "HY", "YH", "YY", "none"]
    for folder in folders:
        simulated, live = (tmp_path / name / folder for name in ("simulated", "live"))
        assert (live / "jobs.csv").read_bytes() == (simulated / "jobs.csv").read_bytes()
        assert without_timing(live / "summary.json") == without_timing(simulated / "summary.json")
    assert sum(d["releases"] for d in without_timing(simulated.parent / "HH" / "summary.json")["domains"].values())


LOG = "job_id,submit,run,nodes,requested\n"


def test_scripts_and_events_of_logs_whose_jobs_are_not_numbered_from_1(tmp_path):
    (tmp_path / "a.csv").write_text(LOG + "".join(f"{70 + n},{9 * n},20,{2 + n % 5},30\n" for n in range(9)))
    (tmp_path / "b.csv").write_text(LOG + "".join(f"{31 + n},{8 * n},25,{1 + n % 6},30\n" for n in range(9)))
    (tmp_path / "pairs.csv").write_text("a,b\n71,32\n73,33\n77,36\n78,39\n")
    (tmp_path / "script").write_text("12 down b 5\n30 up b 5\n35 cut a b 20\n70 scheme b off\n")
    domains = [f"--domain={name},trace={name}.csv,nodes=8,scheme=hold" for name in "ab"]
    flags = [*domains, "--pairs", "pairs.csv", "--script", "script", "--events", "--no-report"]
    for name, more in (("simulated", []), ("live", ["--live"])):
        done = run(tmp_path, *flags, "--out", name, *more)
        assert done.returncode == 0, done.stderr
    simulated, live = tmp_path / "simulated", tmp_path / "live"
    for file in ("jobs.csv", "events.jsonl"):
        assert (live / file).read_bytes() == (simulated / file).read_bytes()
    assert without_timing(live / "summary.json") == without_timing(simulated / "summary.json")


# What happens to its processes


@pytest.fixture
def folder():
    """Where the services' files are: its path is short enough for sockets."""
    with tempfile.TemporaryDirectory(prefix="cosched-test-") as name:
        yield Path(name)


@pytest.fixture
def under_way(tmp_path, folder):
    """A replay whose services run, and their process ids; of a whole month, so that it does not end by itself."""
    month = month_flags(tmp_path, "")
    with (tmp_path / "said").open("w") as said:
        process = subprocess.Popen(
            [*COMMAND, "replay", "--live", *month, "--out", "out", "--no-report"],
            cwd=tmp_path,
            stdout=said,
            stderr=said,
            env={**os.environ, "TMPDIR": str(folder)},
        )
    try:
        yield process, wait_until(lambda: len(found := services_in(folder)) == 2 and found, "both services serve")
    finally:
        process.terminate()
        process.wait(PATIENCE)


def services_in(folder: Path) -> list[int]:
    """Services with files in this folder that have opened their sockets."""
    if len(list(folder.glob("*/*/socket"))) < 2:
        return []
    mark = os.fsencode(folder)
    lines = {int(path.parent.name): path for path in Path("/proc").glob("[0-9]*/cmdline")}
    return [pid for pid, path in lines.items() if is_service(path, mark)]


def is_service(path: Path, mark: bytes) -> bool:
    try:
        arguments = path.read_bytes().split(b"\0")
    except OSError:
        return False
    return b"serve" in arguments and any(mark in argument for argument in arguments)


def is_gone(pid: int) -> bool:
    return not Path(f"/proc/{pid}").exists()


def test_a_service_that_dies_ends_the_replay_with_its_last_words(tmp_path, folder, under_way):
    process, services = under_way
    os.kill(services[0], signal.SIGKILL)
    assert process.wait(PATIENCE) == 1
    assert (tmp_path / "said").read_text().startswith("cosched: ")
    assert "its service has ended" in (tmp_path / "said").read_text()
    assert all(map(is_gone, services))
    assert not (tmp_path / "out").exists()
    assert not list(folder.iterdir())


@pytest.mark.parametrize(
    ("number", "code", "said"),
    [(signal.SIGINT, 130, "cosched: interrupted\n"), pytest.param(signal.SIGTERM, 143, "", marks=pytest.mark.soak)],
)
def test_an_interrupt_ends_the_services_too(tmp_path, folder, under_way, number, code, said):
    process, services = under_way
    process.send_signal(number)
    assert process.wait(PATIENCE) == code
    assert (tmp_path / "said").read_text() == said
    assert all(map(is_gone, services))
    assert not list(folder.iterdir())
