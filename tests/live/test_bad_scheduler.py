"""A package with a scheduler that fails: the service says so in its last line, and goes on without the job."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from cosched.client import Client, ClientError
from tests.live.services import COMMAND, Service, installed
from tests.waiting import PATIENCE, wait_until

TOP = Path(__file__).resolve().parents[2]
WHO = "the scheduler bad (tests.live.bad_scheduler:BAD of badsched 1)"
JOB = "#!/bin/sh\n"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return installed(tmp_path, "badsched", "bad = tests.live.bad_scheduler:BAD", TOP)


@pytest.fixture
def service(make_service: Callable[..., Service], environment: dict[str, str]) -> Service:
    service = make_service("a")
    service.wrapper, service.environment = COMMAND, environment
    service.schedule_by("bad")
    return service.start()


def last_line(service: Service) -> str:
    return service.log.splitlines()[-1]


def ends(service: Service) -> int:
    return service.process.wait(PATIENCE)


def submit(client: Client, trip: str, how: str = "boom") -> str:
    return str(client.submit(JOB, columns={"trip": trip, "how": how}).id)


def test_it_is_named_and_a_job_is_put_aside(service: Service) -> None:
    with service.client() as client:
        for trip, said in (("check", "check: RuntimeError: boom"), ("read", "own_texts: KeyError: 'read'")):
            with pytest.raises(ClientError, match=f"has failed in {said}") as refused:
                submit(client, trip)
            assert refused.value.reason == "SCHEDULER_FAULT"
        blocker = client.submit("#!/bin/sh\nsleep 1000\n", nodes=4)
        why = submit(client, "why")
        assert "more cannot be told: the scheduler bad" in service.run("explain", why).stdout
        client.cancel(blocker.id)
        wait_until(lambda: client.job(why).state == "completed")
        with pytest.raises(ClientError, match=r"has failed in next: RuntimeError: boom"):
            submit(client, "next")
    assert ends(service) == 1
    job = int(why) + 1
    fault = f"{WHO} has failed in next, at job {job}: RuntimeError: boom (bad_scheduler.py, misbehave)"
    line = f"{fault}: mend that package, or put the job aside by cosched serve --without-job {job}"
    assert last_line(service) == f"cosched: ended: {line}"
    service.start(wait=False)
    assert ends(service) == 2
    assert last_line(service).endswith(f"config.toml:manager.scheduler: {line}")
    service.options = ("--without-job", str(job))
    service.start()
    with service.client() as client:
        assert client.job(job).reason == "JobHeldAdmin"
        other = client.submit(JOB)
        wait_until(lambda: client.job(other).state == "completed")
        client.cancel(job)


@pytest.mark.parametrize(("how", "codes"), [("hang", [1]), pytest.param("endless", [1, 2], marks=pytest.mark.soak)])
def test_one_that_does_not_return_is_named(service: Service, how: str, codes: list[int]) -> None:
    """At the next start as well: it would not return then either."""
    with service.client(timeout=1) as client, pytest.raises(ClientError):
        submit(client, "next", how)
    for life, code in enumerate(codes):
        if life:
            service.start(wait=False)
        assert ends(service) == code
        assert f"{WHO} has not returned for 5 s from next" in last_line(service)


@pytest.mark.sim
def test_a_replay_names_it_too(tmp_path: Path, environment: dict[str, str]) -> None:
    (tmp_path / "trace.csv").write_text("job_id,submit,run,nodes,trip\n1,1,10,1,none\n2,2,10,1,start\n")
    command = [*COMMAND, "replay", "--domain", "a,trace=trace.csv,nodes=4,scheduler=bad"]
    environment = {**os.environ, **environment}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    fault = "has failed in start, at job 2: RuntimeError: boom (bad_scheduler.py, misbehave): mend that package"
    assert done.stderr.splitlines()[-1] == f"cosched: {WHO} {fault}", done.stderr
