"""A full disk stops a service but loses nothing: it says so, starts nothing, and goes on when there is room again."""

import json
import sqlite3
import threading
import urllib.error
import urllib.request
from contextlib import closing
from pathlib import Path

import grpc
import pytest

from cosched.client import Unreachable
from cosched.v1 import coscheduling_pb2 as wire
from cosched.v1.coscheduling_pb2_grpc import CoschedulingServiceStub
from cosched.words.error_details import error_info
from tests.live.kill_campaign import PatientClient
from tests.live.services import (
    PATIENCE,
    Pair,
    Service,
    free_port,
    noted,
    script_that_notes,
    script_that_waits,
    wait_until,
)
from tests.small_disk import mounted
from tests.tiers import soaked

MEGABYTE = 1 << 20


@pytest.fixture
def small_disk(tmp_path):
    """A folder on a file system of its own, of two megabytes."""
    with mounted(tmp_path / "disk", "2m", "--lazy") as folder:  # a service may have its files open still
        yield folder


@pytest.fixture
def pair(make_pair):
    """A pair; one domain waits for the other that cannot answer, since it is alive, or comes back."""
    made = make_pair(scheme="hold", release_interval="2s", peer_patience="1s", peer_grace="10m")
    made.a.config["domain"]["http"] = f"127.0.0.1:{free_port()}"
    return made


def fill(folder: Path) -> Path:
    """Leave no room in this file system; the file that takes it."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (MEGABYTE, 4096, 1):
            try:
                while True:
                    file.write(bytes(size))
            except OSError:
                continue
    return filler


def health(service: Service) -> tuple[int, str]:
    """What /healthz says: the status and the text."""
    try:
        with urllib.request.urlopen(f"http://{service.config['domain']['http']}/healthz", timeout=PATIENCE) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def is_stalled(service: Service) -> bool:
    status, text = health(service)
    return status == 503 and text.startswith("stalled: ")


def said(service: Service, begin: str) -> list[str]:
    """The messages in its log that begin so."""
    lines = [json.loads(line)["event"] for line in service.log.splitlines() if line.startswith("{")]
    return [line for line in lines if line.startswith(begin)]


def assert_peers_are_told_to_come_again(service: Service) -> None:
    ref = wire.JobRef
    request = wire.TryStartMateRequest(
        request_id="b/77/1", job=ref(domain="a", job_id="1"), caller=ref(domain="b", job_id="77")
    )
    with grpc.insecure_channel(service.address) as channel, pytest.raises(grpc.RpcError) as caught:
        CoschedulingServiceStub(channel).TryStartMate(request, timeout=PATIENCE)
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
    assert error_info(caught.value)[0] == "STALLED"


class Stalled:
    """A pair whose domain a has no room for its database: one job of a has ended since, others could start."""

    def __init__(self, pair: Pair, disk: Path) -> None:
        self.pair, self.folder, self.go = pair, pair.folder, pair.folder / "go"
        pair.a.config["domain"]["state"] = str(disk / "state.db")
        pair.a.config["manager"]["spool"] = str(pair.a.folder / "spool")
        pair.start()
        with pair.a.client() as a:
            self.jobs = [
                a.submit(script_that_waits(self.folder, self.go), nodes=4, directory=self.folder),
                a.submit(script_that_notes(self.folder), nodes=2, directory=self.folder),
                a.submit(script_that_notes(self.folder), nodes=2, pair="p", directory=self.folder),
            ]
            wait_until(lambda: len(noted(self.folder)) == 1, "the first job runs")
        with closing(sqlite3.connect(disk / "state.db")) as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # it would make room by that
        self.filler = fill(disk)
        self.go.touch()
        wait_until(lambda: is_stalled(pair.a), "the end of the first job cannot be put on record")

    def submit_patiently(self) -> threading.Thread:
        """Submit one more job, again and again until there is an answer."""

        def submit() -> None:
            with PatientClient(self.pair.a.socket) as client:
                self.jobs.append(client.submit(script_that_notes(self.folder), directory=self.folder))

        thread = threading.Thread(target=submit)
        thread.start()
        return thread

    def assert_all_end_well(self) -> None:
        """All jobs of a have run once, and the pair started together."""
        with self.pair.a.client() as a, self.pair.b.client() as b:
            wait_until(lambda: not a.jobs() and not b.jobs(), "all jobs have ended")
            assert [job.id for job in a.jobs(["completed"])] == [job.id for job in self.jobs]
            whys = [
                event.detail["why"]
                for client in (a, b)
                for event in client.events(after=0, kinds=["started"], until_now=True)
                if event.detail["why"] != "it has no mate"
            ]
        assert sorted(start[:3] for start in noted(self.folder)) == sorted(
            [("b", "1", "p"), *(("a", job.id, "p" if job.mates else "-") for job in self.jobs)]
        )
        assert len(whys) == 2
        assert "PeerUnreachable" not in whys


@pytest.mark.parametrize("ending", soaked(["it is killed and started", "it goes on"], 1))
def test_no_room_for_the_database(pair, small_disk, ending):
    stalled = Stalled(pair, small_disk)
    with pair.b.client() as b:
        mate = b.submit(script_that_notes(stalled.folder), pair="p", directory=stalled.folder)
        wait_until(lambda: b.job(mate).reason == "PeerBusy", "its mate's domain says that it is stalled")
    with pair.a.client() as a, pytest.raises(Unreachable) as caught:
        a.submit(script_that_notes(stalled.folder))
    assert caught.value.reason == "STALLED"
    assert_peers_are_told_to_come_again(pair.a)
    submitting = stalled.submit_patiently()
    assert len(noted(stalled.folder)) == 1  # nothing has started
    if ending == "it is killed and started":
        pair.a.kill()
        stalled.filler.unlink()
        pair.a.start()
    else:
        assert len(said(pair.a, "stalled: ")) == 1
        stalled.filler.unlink()
        wait_until(lambda: health(pair.a) == (200, "ok\n"), "there is room again")
        assert len(said(pair.a, "the database can be written again")) == 1
    submitting.join()
    stalled.assert_all_end_well()


def test_no_room_for_the_launches_of_jobs(pair, small_disk):
    pair.a.config["manager"]["spool"] = str(small_disk / "spool")
    pair.start()
    go = pair.folder / "go"
    with pair.a.client() as a:
        runs = a.submit(script_that_waits(pair.folder, go), nodes=1, directory=pair.folder)
        wait_until(lambda: len(noted(pair.folder)) == 1, "it runs")
        wait_until(lambda: a.job(runs).state == "running", "that is on record")
        filler = fill(small_disk)
        waits = a.submit(script_that_notes(pair.folder), directory=pair.folder)
        wait_until(lambda: is_stalled(pair.a), "it cannot be launched")
        gone = a.submit(script_that_notes(pair.folder), directory=pair.folder)
        wait_until(lambda: a.job(gone).state == "starting", "it is to be launched")
        wait_until(lambda: a.cancel(gone).state == "cancelled", "what waits can be cancelled")
        go.touch()
        pair.a.restart()
        wait_until(lambda: is_stalled(pair.a), "it still cannot be launched")
        assert (a.job(runs).state, a.job(waits).state) == ("running", "starting")
        assert len(noted(pair.folder)) == 1
        filler.unlink()
        wait_until(lambda: not a.jobs(), "both have ended")
        assert [a.job(job).state for job in (runs, waits, gone)] == ["completed", "completed", "cancelled"]
    assert health(pair.a) == (200, "ok\n")
    assert sorted(start[1] for start in noted(pair.folder)) == [runs.id, waits.id]
