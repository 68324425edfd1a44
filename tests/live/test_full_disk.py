"""A full disk stops a service but loses nothing: it says so, starts nothing, and goes on when there is room again."""

import json
import sqlite3
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import grpc
import pytest

from cosched.client import Unreachable
from cosched.v1 import coscheduling_pb2 as wire
from cosched.v1.coscheduling_pb2_grpc import CoschedulingServiceStub
from tests.live.kill_campaign import PatientClient
from tests.live.secured import refusal
from tests.live.services import Pair, Service, noted, script_that_notes, script_that_waits, start_together
from tests.small_disk import mounted
from tests.tiers import soaked
from tests.waiting import PATIENCE, wait_until

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
    made.a.listen_to_http()
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


class Stalled:
    """A pair whose domain a has no room for its database: one job of a has ended since, others could start."""

    def __init__(self, pair: Pair, disk: Path) -> None:
        self.pair, self.folder, self.go = pair, pair.folder, pair.folder / "go"
        pair.a.config["domain"]["state"] = str(disk / "state.db")
        pair.a.config["manager"]["spool"] = str(pair.a.folder / "spool")
        pair.start()
        with pair.a.client() as a:
            self.jobs = [
                a.submit(script_that_waits(self.folder, self.go), nodes=4),
                a.submit(script_that_notes(self.folder), nodes=2),
                a.submit(script_that_notes(self.folder), nodes=2, pair="p"),
            ]
            wait_until(lambda: len(noted(self.folder)) == 1, "the first job runs")
        with closing(sqlite3.connect(disk / "state.db")) as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # it would make room by that
        self.filler = fill(disk)
        self.go.touch()
        wait_until(lambda: is_stalled(pair.a), "the end of the first job cannot be put on record")

    def assert_all_end_well(self) -> None:
        """All jobs of a have run once, and the pair started together."""
        with self.pair.a.client() as a, self.pair.b.client() as b:
            wait_until(lambda: not a.jobs() and not b.jobs(), "all jobs have ended")
            assert [job.id for job in a.jobs(["completed"])] == [job.id for job in self.jobs]
        assert sorted(start[:3] for start in noted(self.folder)) == sorted(
            [("b", "1", "p"), *(("a", job.id, "p" if job.mates else "-") for job in self.jobs)]
        )
        assert start_together(self.pair.both)


@pytest.mark.parametrize("ending", soaked(["it is killed and started", "it goes on"], 1))
def test_no_room_for_the_database(pair, small_disk, ending):
    stalled = Stalled(pair, small_disk)
    with pair.b.client() as b:
        mate = b.submit(script_that_notes(stalled.folder), pair="p")
        wait_until(lambda: b.job(mate).reason == "PeerBusy", "its mate's domain says that it is stalled")
    with pair.a.client() as a, pytest.raises(Unreachable) as caught:
        a.submit(script_that_notes(stalled.folder))
    assert caught.value.reason == "STALLED"
    ids = {"job": {"domain": "a", "job_id": "1"}, "caller": {"domain": "b", "job_id": "77"}}
    request = wire.TryStartMateRequest(request_id="b/77/1", **ids)
    with grpc.insecure_channel(pair.a.address) as channel:  # peers are told to come again
        assert refusal(CoschedulingServiceStub(channel).TryStartMate, request) == ("UNAVAILABLE", "STALLED")
    with ThreadPoolExecutor(1) as pool, PatientClient(pair.a) as patient:
        submitting = pool.submit(patient.submit, script_that_notes(stalled.folder))
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
        stalled.jobs.append(submitting.result())
    stalled.assert_all_end_well()


def test_no_room_for_the_launches_of_jobs(pair, small_disk):
    pair.a.config["manager"]["spool"] = str(small_disk / "spool")
    pair.start()
    go = pair.folder / "go"
    with pair.a.client() as a:
        runs = a.submit(script_that_waits(pair.folder, go), nodes=1)
        wait_until(lambda: len(noted(pair.folder)) == 1, "it runs")
        wait_until(lambda: a.job(runs).state == "running", "that is on record")
        filler = fill(small_disk)
        waits = a.submit(script_that_notes(pair.folder))
        wait_until(lambda: is_stalled(pair.a), "it cannot be launched")
        gone = a.submit(script_that_notes(pair.folder))
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
