"""A scheduler of a package of its own (docs/examples) beside the wheel: it has all that ours have, by its entry point.

Job scripts note their start, and run until there is a file.
"""

import json
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from tests.deploy.conftest import TOP, environment, run
from tests.live import services
from tests.live.services import Pair, Service, free_port, noted, script_that_waits
from tests.waiting import wait_until

pytestmark = pytest.mark.soak
EXPRESS = "eureka,trace=generated:eureka/days=2,scheduler=express,express=20m"
SHORT, LONG = "0:30", "15:00"  # that jobs ask for


@pytest.fixture(scope="module")
def cosched(made: Path, tmp_path_factory) -> Path:
    """The command of an environment that got the wheel, and the package of the example."""
    folder = tmp_path_factory.mktemp("own")
    found = environment(folder, made, "papers,page")
    shutil.copytree(TOP / "docs" / "examples", folder / "examples")  # a build leaves folders there
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    run(folder, *build, "--wheel-dir", "wheels", "./examples")
    (wheel,) = (folder / "wheels").iterdir()
    run(folder, found / "pip", "install", "--quiet", "--no-deps", "--no-index", wheel)
    return found / "cosched"


# Simulations


@pytest.mark.parametrize("other", ["batch", "fluid", "express"])
def test_pairs_start_together_whatever_the_schemes(cosched: Path, tmp_path: Path, other: str) -> None:
    partner = f"intrepid,trace=generated:intrepid/days=2,scheduler={other}"
    said = run(
        tmp_path, cosched, "replay", "--domain", EXPRESS, "--domain", partner, "--pair-window", "2m", "--compare"
    )
    found = re.findall(r"^(\w+)-(\w+) +eureka .* (\d+) of (\d+)$", said, re.MULTILINE)
    assert [schemes for *schemes, _, _ in found] == [[a, b] for a in ("hold", "yield") for b in ("hold", "yield")]
    assert all(together == pairs for *_, together, pairs in found)


@pytest.mark.parametrize("other", ["batch", "fluid"])
def test_it_has_mates_in_domains_that_meet(cosched: Path, tmp_path: Path, other: str) -> None:
    partner = f"intrepid,trace=generated:intrepid/days=2,scheduler={other},scheme=meet"
    said = run(tmp_path, cosched, "replay", "--domain", EXPRESS, "--domain", partner, "--pair-window", "2m")
    assert all_together("pairs", said)


def all_together(what: str, said: str) -> bool:
    together, of = re.search(rf"^{what}: (\d+) of (\d+) ", said, re.MULTILINE).groups()
    return together == of != "0"


@pytest.mark.papers
def test_groups_start_together(cosched: Path, tmp_path: Path) -> None:
    more = [f"--domain={name},trace=generated:eureka/days=1" for name in ("b", "c,scheduler=fluid")]
    said = run(tmp_path, cosched, "replay", "--domain", EXPRESS, *more, "--group-size", "3", "--pair-fraction", "0.2")
    assert all_together("groups", said)


def test_results_reports_and_sweeps_tell_of_it(cosched: Path, tmp_path: Path) -> None:
    said = run(tmp_path, cosched, "replay", "--domain", EXPRESS, "--out", "run", "--events")
    found = json.loads((tmp_path / "run/summary.json").read_text())["domains"]["eureka"]["express"]
    assert found["express"] == 1200
    assert f"jobs that lost their nodes: {found['preempted']}\n" in said
    allocations = (tmp_path / "run/allocations.csv").read_text()
    assert allocations.count(",requeued\n") == found["preempted"] > 0
    run(tmp_path, cosched, "report", "run")
    assert "express" in (tmp_path / "run/report.html").read_text()
    (tmp_path / "sweep.toml").write_text(
        '[grid]\n"eureka.express" = ["5m", "1h"]\n'
        '[[domain]]\nname = "eureka"\ntrace = "generated:eureka/days=1"\nscheduler = "express"\n'
    )
    said = run(tmp_path, cosched, "sweep", "sweep.toml", "--out", "sweep")
    assert {"5m", "1h"} == set(re.findall(r"^ *(5m|1h) +eureka", said, re.MULTILINE))
    assert (tmp_path / "sweep/report.html").exists()


def test_its_column_of_logs_is_read(cosched: Path, tmp_path: Path) -> None:
    jobs = ["1,0,4,1000,yes", "2,10,4,50,", "3,2000,4,1000,no", "4,2010,4,50,no"]
    (tmp_path / "log.csv").write_text("\n".join(["job_id,submit,nodes,run,steady", *jobs, ""]))
    domain = "a,trace=log.csv,nodes=4,scheduler=express,express=100"
    run(tmp_path, cosched, "replay", "--domain", domain, "--out", "run", "--no-report")
    rows = [line.split(",") for line in (tmp_path / "run/jobs.csv").read_text().splitlines()[1:]]
    assert [int(start) for *_, start in (row[:5] for row in rows)] == [0, 1000, 2000, 2010]


# Services


@pytest.fixture
def pair(cosched: Path, tmp_path: Path, monkeypatch) -> Iterator[Pair]:
    """Domain a has it, domain b has the batch scheduler; four nodes each."""
    monkeypatch.setattr(services, "COMMAND", (str(cosched),))
    made = Pair(tmp_path, release_interval=600, max_held_fraction=1)
    for service in made.both:
        service.wrapper = services.COMMAND
    del made.a.config["manager"]["policy"]
    made.a.config["manager"] |= {"scheduler": "express", "express": "1m", "grace": 2}
    made.a.config["domain"] |= {"http": f"127.0.0.1:{free_port()}"}
    made.a.config["page"] = {"show": "all", "proxies": ["127.0.0.1"]}
    try:
        yield made.start()
        assert not [fault for service in made.both for fault in service.faults()]
    finally:
        made.clear()


def submitted(service: Service, time_limit: str, name: str, *more: str) -> str:
    """The number of a job, submitted by the command."""
    folder = service.folder.parent
    script = folder / f"{name}.sh"
    script.write_text(script_that_waits(folder, folder / name))
    said = service.run("submit", "--time", time_limit, *more, str(script))
    assert said.returncode == 0, said.stderr
    return re.search(r"Submitted job (\d+)", said.stdout)[1]


def becomes(service: Service, job: str, state: str) -> None:
    def is_so() -> bool:
        with service.client() as client:
            return client.job(job).state == state

    wait_until(is_so, f"job {job} of {service.name} is {state}:\n{service.log}")


def told(service: Service, *arguments: str) -> str:
    said = service.run(*arguments)
    assert said.returncode == 0, said.stderr
    return said.stdout


def page(service: Service, job: str) -> str:
    with service.client() as client:
        owner = client.jobs()[0].owner
    http = service.config["domain"]["http"]
    with urlopen(Request(f"http://{http}/jobs/{job}", headers={"X-Remote-User": owner})) as answer:
        return answer.read().decode()


def test_a_job_loses_its_nodes_and_runs_again_whenever_the_service_dies(pair: Pair, tmp_path: Path) -> None:
    a = pair.a
    long = submitted(a, LONG, "long", "--nodes", "3")
    becomes(a, long, "running")
    a.restart()  # while it runs
    ran = [long]
    for times in (1, 2):
        short = submitted(a, SHORT, f"short{times}", "--nodes", "2")
        a.restart()  # while the run is to end
        becomes(a, short, "running")
        becomes(a, long, "queued")
        a.restart()  # while it waits
        why = f"it needs 3 nodes, 2 are free; so often it gave its nodes to short jobs: {times}"
        for said in (told(a, "show", long), told(a, "explain", long), page(a, long)):
            assert why in said
            assert "submit it with --steady yes" in said
        assert "preempted: queued again, its nodes are others'" in told(a, "show", long)
        assert re.search(rf"^ +{long} .* PD ", told(a, "queue"), re.MULTILINE)
        (tmp_path / f"short{times}").touch()
        becomes(a, short, "completed")
        becomes(a, long, "running")
        ran += [short, long]
        wait_until(lambda ran=ran: [job for _, job, *_ in noted(tmp_path)] == ran, "it runs again")
    (tmp_path / "long").touch()
    becomes(a, long, "completed")
    assert "problem" not in a.run("doctor", "--config", str(a.folder / "config.toml")).stdout.replace("0 problem", "")


def test_a_steady_job_keeps_its_nodes(pair: Pair, tmp_path: Path) -> None:
    a = pair.a
    steady = submitted(a, LONG, "steady", "--nodes", "3", "--steady", "yes")
    becomes(a, steady, "running")
    a.restart()
    short = submitted(a, SHORT, "short", "--nodes", "2")
    a.restart()
    assert "it needs 2 nodes, 1 is free" in told(a, "explain", short)
    assert re.search(r"^says +steady\W+yes$", told(a, "show", steady), re.MULTILINE)
    (tmp_path / "steady").touch()
    becomes(a, short, "running")
    (tmp_path / "short").touch()
    becomes(a, short, "completed")
    wrong = a.run("submit", "--steady", "perhaps", "steady.sh")
    assert (wrong.returncode, "'perhaps' is neither no nor yes" in wrong.stderr) == (1, True)


def test_a_pair_starts_together_whenever_the_service_dies(pair: Pair, tmp_path: Path) -> None:
    a, b = pair.both
    held = submitted(a, LONG, "pair", "--nodes", "3", "--pair", "p")
    becomes(a, held, "holding")
    a.restart()  # while it holds
    becomes(a, held, "holding")
    short = submitted(a, SHORT, "short", "--nodes", "4")  # takes no nodes of a job that holds
    becomes(a, short, "queued")
    told(a, "cancel", short)
    mate = submitted(b, LONG, "pair", "--pair", "p")
    becomes(b, mate, "running")
    wait_until(lambda: {("a", held), ("b", mate)} <= {start[:2] for start in noted(tmp_path)}, "both have started")
    short = submitted(a, SHORT, "short", "--nodes", "4")  # now it does
    a.restart()
    becomes(a, short, "running")
    (tmp_path / "short").touch()
    becomes(a, short, "completed")
    becomes(a, held, "running")
    (tmp_path / "pair").touch()
    for service, job in ((a, held), (b, mate)):
        becomes(service, job, "completed")
    assert [start[:2] for start in noted(tmp_path) if start[1] != short].count(("a", held)) == 2
    assert "its mate started before it: desynchronised" in told(a, "show", held)
