"""Run times that a service has learned: over the API and by `cosched times`, corrected, and kept over restarts."""

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from cosched.v1 import run_times_pb2
from tests.live.other_users import USERS, Outcome, a_public_folder, call_as, needs_root
from tests.live.services import COMMAND, Service, installed
from tests.waiting import wait_until

TOP = Path(__file__).resolve().parents[2]
KIND = """
from cosched.schedulers.kind import SchedulerKind
from cosched.validation.types import Settings
from tests.core.learning import Learning


class Keys(Settings):
    pass


class LearningKind(SchedulerKind):
    name, purpose, keys = "learning", "it learns", Keys

    def settings(self, keys, nodes, _):
        return type("Machine", (), {"nodes": nodes, "slots": False})

    def open(self, settings):
        return Learning(settings.nodes)


LEARNING = LearningKind()
"""


@pytest.fixture
def service() -> Iterator[Service]:
    """Its scheduler, which learns, comes by an entry point. Everybody can enter its folder."""
    with a_public_folder() as folder, Service(folder / "a", "a") as made:
        made.wrapper = COMMAND
        made.environment = installed(folder, "learning", "learning = learning_kind:LEARNING", folder, TOP)
        (folder / "learning_kind.py").write_text(KIND)
        made.schedule_by("learning")
        yield made.start()
        assert not made.faults()


def shown(service: Service, *arguments: str) -> str:
    said = service.run("times", *arguments)
    assert said.returncode == 0, said.stderr
    return said.stdout


def test_they_are_shown_corrected_and_kept(service: Service, tmp_path: Path) -> None:
    with service.client() as client:
        jobs = [client.submit(f"#!/bin/sh\nsleep {seconds}\n") for seconds in (1, 0, 0)]
        failed = client.submit("#!/bin/sh\nexit 3\n")
        wait_until(lambda: all(client.job(job).state in ("completed", "failed") for job in (*jobs, failed)))
        me = jobs[0].owner
        service.restart()
        [told] = client.run_times()
        assert (told.job_class, told.resource, told.user, told.queue) == (f"of {me}", "machine", "", "")
        assert (told.runs, told.source, told.stated) == (3, "runs", None)
        assert told.expected == told.mean
        assert told.ninetieth >= timedelta(seconds=1)
        assert told.spread > told.standard_deviation > 0
        [by_user] = client.run_times("user")
        assert (by_user.user, by_user.queue, by_user.runs, by_user.expected) == (me, "low", 3, None)
        assert [known.runs for by in ("class", "resource") for known in client.run_times(by)] == [3, 3]
        names = f"of {me}", "machine"
        header, row = shown(service).splitlines()
        assert " ".join(header.split()) == "JOB CLASS RESOURCE RUNS MEAN SD 10 % 50 % 90 % EXPECTED +- BY"
        assert row.split()[:4] == [*names[0].split(), names[1], "3"]
        assert json.loads(shown(service, "--json", "--by", "user"))[0]["runs"] == 3
        said = service.run("times", "--set", *names, "2m", "--set", "other", "machine", "90s")
        assert (said.returncode, said.stderr) == (0, "run times corrected: 2\n")
        service.restart()
        assert [(it.expected.seconds, it.source) for it in client.run_times()] == [(120, "stated"), (90, "stated")]
        written = shown(service, "--csv")
        assert written == f"job_class,resource,seconds\nof {me},machine,120\nother,machine,90\n"
        shown(service, "--forget", *names, "--forget", "other", "machine")
        assert client.run_times() == []
        (tmp_path / "times.csv").write_text(written)
        shown(service, "--import", str(tmp_path / "times.csv"))
        assert shown(service, "--csv") == written
        rows = service.rows("SELECT detail FROM audit WHERE method = 'CorrectRunTimes' AND outcome = 'OK'")
        assert any(f"of {me} on machine: 120 s, other on machine: 90 s" in detail for (detail,) in rows)


@needs_root
def test_only_operators_correct_them_and_everybody_sees_them(service: Service) -> None:
    correction = run_times_pb2.CorrectRunTimesRequest(request_id="1")
    correction.corrections.add(job_class="c", resource="m").stated.seconds = 5
    calls = [("CorrectRunTimes", correction), ("ListRunTimes", run_times_pb2.ListRunTimesRequest())]
    with service.client() as client:
        refused, none = Outcome("PERMISSION_DENIED", "NOT_OWNER"), Outcome("OK", answer={})
        assert call_as(USERS[0], service.socket, calls) == [refused, none]
        client.correct_run_times({("c", "m"): 5})
        [_, seen] = call_as(USERS[0], service.socket, calls)
        assert seen.answer["run_times"][0]["expected"] == "5s"


@pytest.mark.soak  # as in tests/service
def test_a_domain_that_learns_none_says_so(make_service) -> None:
    made = make_service("b").start()
    said = made.run("times")
    assert (said.returncode, said.stderr.strip()) == (1, "cosched: a batch scheduler learns no run times")
