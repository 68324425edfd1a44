"""Jobs grow and shrink while others come and go, in real services with real processes (fluid.md, Live)."""

import sys
from pathlib import Path

import grpc
import pytest

from cosched.client import Client, ClientError
from cosched.client.adaptive import AdaptiveJob
from cosched.client.connection import open_channel
from cosched.v1 import adaptive_pb2 as adaptive
from cosched.v1.adaptive_pb2_grpc import AdaptiveServiceStub
from cosched.v1.coscheduling_pb2 import JobRef
from tests.live.other_users import USERS, Outcome, a_public_folder, call, call_as, needs_root
from tests.live.services import Service
from tests.waiting import wait_until

pytestmark = pytest.mark.papers

# Iterates until there is a file END; adapts only while there is a file ADAPT
APPLICATION = f"""#!{sys.executable}
import sys, time
from pathlib import Path
from cosched.client.adaptive import AdaptiveJob

job, end, adapt = AdaptiveJob(), Path(sys.argv[1]), Path(sys.argv[2])
while not end.exists():
    time.sleep(0.02)
    if job.boundary() and adapt.exists():
        job.adapted()
"""
RIGID = """#!/bin/bash
touch $1.started
while [ ! -e $1 ]; do sleep 0.05; done
"""


@pytest.fixture
def service(make_service):
    made = make_service("a")
    made.schedule_by("fluid")
    return made


class Application:
    """Its jobs run until there is the file `one`, and adapt only while there is the file `adapt`."""

    def __init__(self, folder: Path) -> None:
        self.one, self.adapt = folder / "one", folder / "adapt"
        self.adapt.touch()

    def submit(self, client: Client, nodes: int = 4, least: int = 1, gets: int = 0) -> str:
        options = {"nodes": nodes, "least": least, "time_limit": 600}
        job = client.submit(APPLICATION, [str(self.one), str(self.adapt)], **options).id
        wait_until(lambda: using(client, job) == (gets or nodes), "it uses what it gets")
        return job

    def end(self, client: Client, job: str) -> None:
        self.one.touch()
        wait_until(lambda: client.job(job).state == "completed", "its end")


@pytest.fixture
def application(tmp_path) -> Application:
    return Application(tmp_path)


def using(client: Client, job: str) -> int:
    return client.job(job).malleable.using


def told(service: Service, job: str) -> list[str]:
    """The story of a job, without times."""
    lines = service.run("show", job).stdout.split("\n\n")[1].splitlines()
    return [line[21:] for line in lines]


def test_a_job_gives_nodes_to_the_next_one_and_gets_them_back_whatever_its_domain_does(service, application, tmp_path):
    """The service is killed while a job has been told to shrink, and while the job that is to get the nodes waits."""
    service.start()
    with service.client() as client:
        first = application.submit(client)
        application.adapt.unlink()
        second = client.submit(RIGID, [str(tmp_path / "two")], nodes=2, time_limit=600).id
        wait_until(lambda: client.job(first).malleable.told_at, "it is told")
        assert (client.job(first).nodes, using(client, first)) == (2, 4)
        service.restart()
        assert (client.job(first).nodes, using(client, first)) == (2, 4)
        wait_until(lambda: client.job(second).reason == "NodesBusy", "its scheduler counts it as started")
        assert (client.job(second).state, client.job(second).started_at) == ("starting", None)
        assert not (tmp_path / "two.started").exists(), "nodes that the first may use were given to another job"
        application.adapt.touch()
        wait_until((tmp_path / "two.started").exists, "the second one gets its nodes")
        assert (client.job(first).nodes, using(client, first)) == (2, 2)
        (tmp_path / "two").touch()
        wait_until(lambda: using(client, first) == 4, "it uses all again")
        application.end(client, first)
    assert told(service, first) == [
        "submitted",
        "started: it has no mate",
        "runs on 4 of the 4 nodes that it can use",
        "gives 2 nodes to job 2, and keeps 2",
        "uses 2 nodes now",
        "gets 2 nodes that nobody needs, and has 4",
        "uses 4 nodes now",
        "completed",
    ]
    assert "gets 2 nodes of job 1" in told(service, second)
    assert "waits to begin: for nodes that other jobs have yet to give up" in told(service, second)
    assert "4 (1-4)" in service.run("queue", "--all").stdout
    assert not service.faults()


def test_a_job_that_never_answers_is_told_again_and_ended_if_the_site_says_so(service, application, tmp_path):
    service.config["manager"] |= {"resize_patience": 1, "on_resize_ignored": "end"}
    service.start()
    application.adapt.unlink()
    with service.client() as client:
        first = application.submit(client)
        client.submit(RIGID, [str(tmp_path / "two")], nodes=2, time_limit=600)
        wait_until(lambda: client.job(first).state == "cancelled", "it is ended")
        wait_until((tmp_path / "two.started").exists, "the second one gets its nodes")
        (tmp_path / "two").touch()
    assert told(service, first)[-4:] == [
        "has not answered that it uses 2 nodes: it is told again",
        "has not answered that it uses 2 nodes: it is ended, as on_resize_ignored has it",
        "is to be cancelled, by on_resize_ignored",
        "cancelled",
    ]


def test_a_change_that_is_taken_back_is_told_as_well(service, application, tmp_path):
    """ "migrate_processor: use others, as many". Here it has them all: it had been told to use two of them."""
    service.start()
    with service.client() as client, open_channel(grpc, service.socket, None) as channel:
        first = application.submit(client)
        application.adapt.unlink()
        second = client.submit(RIGID, [str(tmp_path / "two")], nodes=2, time_limit=600).id
        wait_until(lambda: client.job(first).malleable.told_at, "it is told")
        client.cancel(second)
        wait_until(lambda: client.job(first).nodes == 4, "it is to have all again")
        asked = adaptive.ReachBoundaryRequest(job=JobRef(job_id=first))
        reach, migrate = AdaptiveServiceStub(channel).ReachBoundary, adaptive.ADAPTATION_MIGRATE_PROCESSOR
        told = wait_until(lambda: (told := reach(asked)).adaptation == migrate and told, "it is told so")
        assert (told.generation, len(told.nodes)) == (2, 4)
        application.adapt.touch()
        wait_until(lambda: client.job(first).malleable.told_at is None, "it uses them")
        application.end(client, first)
    assert not service.faults()


def test_what_cannot_be_is_refused_in_one_line(service, tmp_path: Path):
    service.config["manager"]["model"] = "parabolic"
    service.start()
    (tmp_path / "job.sh").write_text("#!/bin/sh\n#COSCHED --nodes=2 --least=3\ntrue\n")
    refused = service.run("submit", str(tmp_path / "job.sh"))
    assert refused.returncode == 1
    assert "least_nodes: 3 is not between 1 and nodes, 2" in refused.stderr
    with service.client() as client:
        for options, reason in (
            ({"nodes": 2, "least": 3}, "INVALID_FIELD"),
            ({"nodes": 9, "least": 5}, "JOB_TOO_LARGE"),
            ({"nodes": 4, "least": 1, "time_limit": 1 << 25}, "JOB_TOO_LARGE"),
            ({"nodes": 9}, "JOB_TOO_LARGE"),
        ):
            with pytest.raises(ClientError) as refusal:
                client.submit(RIGID, **options)
            assert (refusal.value.reason, "\n" in str(refusal.value)) == (reason, False)
    service.stop()
    service.config["manager"] = {"kind": "local", "slots": 4}
    service.start()
    said = "'least': a batch scheduler reads nothing of this name, only a fluid scheduler does"
    with service.client() as client, pytest.raises(ClientError, match=said) as refusal:
        client.submit(RIGID, nodes=2, least=1)
    assert refusal.value.reason == "NO_SUCH_COLUMN"
    assert not service.faults()


@needs_root
def test_only_its_owner_and_operators_speak_for_a_job():
    """Another user learns nothing of it, and cannot make its nodes another one's by saying that it has left them."""
    operator, other = USERS
    with a_public_folder() as folder, Service(folder / "a", "a") as service:
        service.schedule_by("fluid")
        service.config["domain"]["operators"] = [operator]
        application, two = Application(folder), folder / "two"
        with service.start().client() as client:
            first = application.submit(client)
            application.adapt.unlink()
            client.submit(RIGID, [str(two)], nodes=2, time_limit=600)
            wait_until(lambda: client.job(first).malleable.told_at, "it is told")
            left = ("ReachBoundary", adaptive.ReachBoundaryRequest(job=JobRef(job_id=first), acknowledged=1))
            asked = ("ReachBoundary", adaptive.ReachBoundaryRequest(job=JobRef(job_id=first)))
            unknown = ("ReachBoundary", adaptive.ReachBoundaryRequest(job=JobRef(job_id="99")))
            refused = Outcome("PERMISSION_DENIED", "NOT_OWNER")
            predicts = ("TellPredictions", adaptive.TellPredictionsRequest(job=JobRef(job_id=first)))
            *outcomes, nobodys = call_as(other, service.socket, [asked, left, predicts, unknown])
            assert (outcomes, nobodys.reason) == ([refused] * 3, "JOB_NOT_FOUND")
            assert (using(client, first), two.with_name("two.started").exists()) == (4, False)
            (told,) = call_as(operator, service.socket, [asked])
            assert told.answer["adaptation"] == "ADAPTATION_REMOVE_PROCESSOR"
            assert call_as(operator, service.socket, [left])[0].code == "OK"
            wait_until(two.with_name("two.started").exists, "the second one gets its nodes")


def test_adaptive_service_is_on_the_socket_of_fluid_domains_alone(service):
    """No listener for other hosts has it. "A domain whose scheduler changes no sizes answers UNIMPLEMENTED"."""
    service.start()
    asked = "ReachBoundary", adaptive.ReachBoundaryRequest(job=JobRef(job_id="1"))
    with open_channel(grpc, service.socket, None) as local, grpc.insecure_channel(service.address) as remote:
        codes = [call(AdaptiveServiceStub(channel), *asked).code for channel in (local, remote)]
    assert codes == ["NOT_FOUND", "UNIMPLEMENTED"]
    service.stop()
    service.config["manager"] = {"kind": "local", "slots": 4}
    service.start()
    with open_channel(grpc, service.socket, None) as local:
        assert call(AdaptiveServiceStub(local), *asked).code == "UNIMPLEMENTED"


def flat(_: int) -> float:
    return 0.5


def test_what_a_job_predicts_is_counted_kept_and_shown(service, application, tmp_path):
    """`benefit`: "a gift is made only if the job ends sooner". A job that is no faster on more nodes is given none."""
    service.config["manager"] |= {"benefit": True}
    service.start()
    with service.client() as client:
        rigid = client.submit(RIGID, [str(tmp_path / "rigid")], nodes=2, time_limit=600).id
        job = application.submit(client, gets=2)
        speaker = AdaptiveJob(service.socket, job)
        assert speaker.predict(flat, lambda nodes: 0.4 / nodes, lambda nodes: 0.1 * nodes, lambda _: 1.5)
        speaker.close()
        service.restart()
        (tmp_path / "rigid").touch()
        wait_until(lambda: client.job(rigid).state == "completed", "its nodes are free")
        assert client.job(job).nodes == 2
        kept = client.job(job).malleable.predictions
        kept = [(each.nodes, each.exec_time, each.exec_time_comm, each.cost) for each in kept]
        assert kept == [(nodes, 0.5, nodes / 10, 1.5) for nodes in (1, 2, 4)]
        shown = service.run("show", job).stdout
        assert "predicts    an iteration takes 0.5 s on 1, 0.5 s on 2, 0.5 s on 4; an adaptation 1.5 s\n" in shown
        assert told(service, job)[-1] == "predicts iterations of 0.5 s on 1 node, 0.5 s on 4"
        application.end(client, job)
        assert client.job(job).malleable.predictions == ()
    assert not service.faults()


def test_predictions_that_cannot_be_are_refused_in_one_line(service, application):
    service.start()
    with service.client() as client:
        job = application.submit(client, least=2)
        speaker = AdaptiveJob(service.socket, job)
        for functions, reason in (
            ((lambda _: 0.0,), r"predictions\[0\].exec_time: is 0"),
            ((lambda nodes: 1.0 if nodes < 4 else float("nan"),), r"predictions\[2\].exec_time: is not a time"),
            ((flat, flat, flat, lambda _: -1.0), r"predictions\[0\].cost: is not a time"),
            ((lambda nodes: 1e-6 if nodes == 3 else 9e3,), "more than 1,048,576 times as long on one size"),
        ):
            with pytest.raises(ClientError, match=reason) as refusal:
                speaker.predict(*functions)
            assert refusal.value.reason in ("INVALID_FIELD", "NO_PREDICTIONS")
            assert "\n" not in str(refusal.value)
        assert client.job(job).malleable.predictions == ()
        assert not speaker.boundary(), "what is refused is not told again"
        speaker.close()
        application.end(client, job)
    assert not service.faults()


def test_what_a_job_predicts_is_told_once_its_domain_answers(service, application):
    service.start()
    with service.client() as client:
        job = application.submit(client, nodes=2)
        speaker = AdaptiveJob(service.socket, job)
        service.kill()
        assert not speaker.predict(flat)
        assert speaker.problem
        service.start()
        wait_until(lambda: not (speaker.boundary() or speaker.problem), "it answers")
        assert [each.exec_time for each in client.job(job).malleable.predictions] == [0.5, 0.5]
        speaker.close()
        application.end(client, job)
    assert not service.faults()
