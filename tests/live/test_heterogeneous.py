"""A service whose slots are machines of two classes: jobs run where learned times say, and lose their machines."""

from __future__ import annotations

import statistics
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from cosched.client import Client, RunTime
from tests.live.services import Service, noted, script_that_waits
from tests.waiting import wait_until

pytestmark = pytest.mark.papers

SITE = """
preemptive = true

[[machines]]
class = "fast"
names = ["f0", "f1"]

[[machines]]
class = "slow"
names = ["s2", "s3"]
"""
MACHINES = ("f0", "f1", "s2", "s3")
CLASSES = ("low", "high", "sort", "hash", "pack", "sum", "primes")
TIMES = "job_class,resource,seconds\n" + "".join(f"{name},{machine},60\n" for name in CLASSES for machine in MACHINES)
PERCENT = [6, 6, 3, 3]  # of a processor; so little that a busy host has it to spare


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with Service(tmp_path / "a", "a") as made:
        heterogeneous(made, SITE, TIMES, cpu_percent=PERCENT)
        yield made.start()
        assert not made.faults()


def heterogeneous(service: Service, site: str, times: str, **settings: object) -> None:
    """Have it schedule by machines of several classes, as these files say."""
    folder = service.folder.parent
    (folder / "site.toml").write_text(site)
    (folder / "times.csv").write_text(times)
    files = {"site": str(folder / "site.toml"), "times": str(folder / "times.csv")}
    service.schedule_by("heterogeneous", **files, **settings)


def submit(client: Client, script: str, job_class: str, priority: str = "low", limit: int = 3600) -> str:
    return client.submit(script, columns={"job_class": job_class, "priority": priority}, time_limit=limit).id


def becomes(client: Client, job: str, state: str) -> None:
    wait_until(lambda: client.job(job).state == state, f"job {job} is {state}")


def test_a_preempted_job_runs_again_whenever_the_service_dies(service: Service, tmp_path: Path) -> None:
    """heterogeneous.md: "Preempted and failed runs do not count." Each job is counted once."""
    with service.client() as client:
        low = [submit(client, script_that_waits(tmp_path, tmp_path / "low"), "low") for _ in range(4)]
        for job in low:
            becomes(client, job, "running")
        service.restart()
        high = submit(client, script_that_waits(tmp_path, tmp_path / "high"), "high", "high")
        service.restart()  # while the run is to end
        becomes(client, high, "running")
        wait_until(lambda: [client.job(job).state for job in low].count("queued") == 1, "one has lost its machine")
        [lost] = [job for job in low if client.job(job).state == "queued"]
        service.restart()  # while it waits
        (tmp_path / "high").touch()
        becomes(client, high, "completed")
        service.restart()
        (tmp_path / "low").touch()  # the lost one is committed to the machine of another one, and waits for that
        for job in low:
            becomes(client, job, "completed")
        starts = Counter(job for _, job, *_ in noted(tmp_path))
        told = "".join(service.run("show", job).stdout for job in (*low, high))
        assert starts == {**dict.fromkeys([*low, high], 1), lost: 2}, f"{noted(tmp_path)}\n{told}"
        assert {known.job_class: known.runs for known in client.run_times("class")} == {"low": 4, "high": 1}
        assert "preempted: queued again, its nodes are others'" in service.run("show", lost).stdout
        assert {known.queue: known.runs for known in client.run_times("user")} == {"low": 4, "high": 1}


def test_a_restart_does_not_wait_for_a_run_that_is_being_ended(service: Service, tmp_path: Path) -> None:
    """The job that takes its machine starts when it has ended, but the service serves before."""
    stubborn = f"#!/bin/bash\ntrap 'touch {tmp_path}/asked' TERM\necho $$ > {tmp_path}/runs-$COSCHED_JOB_ID\n"
    stubborn += f"while [ ! -e {tmp_path}/end ]; do sleep 0.05; done\n"
    service.config["manager"]["grace"] = 300
    service.restart()
    with service.client() as client:
        for job in [submit(client, stubborn, "low") for _ in MACHINES]:
            wait_until((tmp_path / f"runs-{job}").exists, "it runs")
        high = submit(client, "#!/bin/sh\n", "high", "high")
        wait_until((tmp_path / "asked").exists, "one is asked to end")
        service.restart()
        assert client.job(high).state == "starting"
        (tmp_path / "end").touch()
        becomes(client, high, "completed")
        wait_until(lambda: not client.jobs(), "all end")


def test_the_site_is_told_and_what_was_learned_is_taken_over(service: Service, tmp_path: Path) -> None:
    """heterogeneous.md: The site."""
    with service.client() as client:
        becomes(client, submit(client, "#!/bin/sh\n", "sort"), "completed")
        before = client.site()
        assert [row["name"] for row in before["machines"]] == [*MACHINES]
        [runs] = before["runs"]
        assert (runs["job_class"], runs["resource"], runs["queue"]) == ("sort", "f0", "low")
        (tmp_path / "runs.csv").write_text(service.run("site", "runs", "--csv").stdout)
        client.correct_run_times({("sort", "f0"): None})
        assert client.site()["runs"] == []
        said = service.run("times", "--import", str(tmp_path / "runs.csv"))
        assert (said.returncode, said.stderr) == (0, "run times corrected: 1\n")
        service.restart()
        assert client.site() == before
        said = service.run("times", "--set", "sort", "slot9", "1m")
        assert said.stderr == "cosched: sort cannot run on slot9: the site's file of times says where it can\n"


def test_a_change_of_the_site_that_a_job_does_not_survive(service: Service, tmp_path: Path) -> None:
    """A job that waits is cancelled with the reason. One that runs keeps the service from starting, in one line."""
    times = tmp_path / "times.csv"
    with service.client() as client:
        runs = submit(client, script_that_waits(tmp_path, tmp_path / "low"), "low")
        becomes(client, runs, "running")
        waits = client.submit("#!/bin/sh\n", columns={"job_class": "sort"}, hold=True).id
        service.stop()
        times.write_text("\n".join(line for line in TIMES.splitlines() if not line.startswith("sort")))
        service.start()
        assert client.job(waits).state == "cancelled"
        said = "cancelled: by its expected times a job of the class sort can run nowhere"
        assert said in service.run("show", waits).stdout
        (tmp_path / "low").touch()
        becomes(client, runs, "completed")


# Five programs, each of which takes so many seconds of a processor

PROGRAMS = {
    "sort": (0.3, "import random; work = lambda: sorted(random.random() for _ in range(2000))"),
    "hash": (0.4, "import hashlib; work = lambda: hashlib.sha256(bytes(10**6)).digest()"),
    "pack": (0.5, "import zlib; work = lambda: zlib.compress(bytes(range(256)) * 400)"),
    "sum": (0.6, "work = lambda: sum(number * number for number in range(20000))"),
    "primes": (0.75, "work = lambda: [n for n in range(2, 1500) if all(n % d for d in range(2, int(n**0.5) + 1))]"),
}
RUNS, MORE = 20, 8


def program(name: str) -> str:
    seconds, work = PROGRAMS[name]
    return (
        f"#!{sys.executable} -S\nimport os, time\nprint(os.environ['COSCHED_NODELIST'])\n"
        f"{work}\nwhile time.process_time() < {seconds}:\n    work()\n"
    )


@pytest.mark.soak
def test_it_learns_the_times_of_five_programs_within_a_fifth(service: Service) -> None:
    """After 20 runs of each, the next ones take, on the median, what is expected of them."""
    with service.client() as client:
        run_all(client, RUNS)
        expected = {(known.job_class, known.resource): known for known in client.run_times()}
        jobs = run_all(client, MORE)
        errors: dict[str, list[float]] = {name: [] for name in PROGRAMS}
        for name, ids in jobs.items():
            for id in ids:
                job = client.job(id)
                where = (service.folder / f"cosched-{id}.out").read_text().strip()
                ran = (job.ended_at - job.started_at).total_seconds()
                known: RunTime = expected[name, where]
                errors[name].append(abs(ran - known.expected.total_seconds()) / ran)
        for known in expected.values():
            print(known.job_class, known.resource, known.runs, known.mean, known.standard_deviation, known.source)
        medians = {name: round(statistics.median(found), 3) for name, found in errors.items()}
        print(f"relative errors, medians: {medians}; by quotas: {'quotas' in service.log}")
        assert max(medians.values()) <= 0.2


def run_all(client: Client, times: int) -> dict[str, list[str]]:
    """Run each program so often; the ids of the jobs."""
    jobs = {name: [submit(client, program(name), name) for _ in range(times)] for name in PROGRAMS}
    for ids in jobs.values():
        for id in ids:
            wait_until(lambda id=id: client.job(id).state in ("completed", "failed"), f"job {id} has ended", 900)
            assert client.job(id).state == "completed"
    return jobs
