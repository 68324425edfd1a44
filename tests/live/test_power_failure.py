"""Power failures: nothing that has left a domain is taken back, wherever its log is cut, and no id is given twice."""

import random
from contextlib import suppress
from pathlib import Path

import pytest

from cosched.client import Client, ClientError
from tests.live.power_failures import Disk, Told, be_busy, lost, record
from tests.live.services import Pair, wait_until
from tests.tiers import SEED

ANY = ("queued", "ready", "holding", "running", "completed", "failed", "cancelled")


def busy(pair: Pair, seconds: float, seed: int, **environment: str) -> list[Told]:
    for service in pair.both:
        record(service)
        service.environment.update(environment)
        service.config["domain"]["log_level"] = "info"
    return be_busy(pair.start(), seconds, seed)


def failures(pair: Pair, told: list[Told], most: int, scratch: Path) -> tuple[int, list[str]]:
    """How many cuts were looked at, and what each of them takes back."""
    disks = {service.name: Disk(service) for service in pair.both}
    cuts = [at for disk in disks.values() for at in disk.cuts()]
    chosen = random.Random(1).sample(cuts, min(most, len(cuts)))
    taken_back = []
    for at in chosen:
        images = {name: disk.image(at, scratch / f"{name}.db") for name, disk in disks.items()}
        taken_back += lost(told, at, images)
    return len(chosen), taken_back


def restart(pair: Pair, told: list[Told], at: float, folder: Path) -> None:
    """Both sides begin again with what a power failure at that instant leaves of their databases."""
    with Pair(folder, scheme="hold", release_interval="2s") as again:
        for before, service in zip(pair.both, again.both, strict=True):
            Disk(before).write(at, service.folder / "state.db")
        again.start()
        for service in again.both:
            with service.client() as client:
                ids = {one.job for one in told if one.domain == service.name and one.at < at}
                assert ids <= {int(job.id) for job in client.jobs(ANY)}
                fresh = client.submit("#!/bin/sh\n", hold=True)
                assert int(fresh.id) > max(ids, default=0)
                client.cancel(fresh)
        with again.a.client() as a, again.b.client() as b:
            for client in (a, b):
                part(client)
            wait_until(lambda: not a.jobs() and not b.jobs(), "all have ended")


def part(client: Client) -> None:
    """Jobs that wait need no mate any more: theirs may not have been submitted."""
    for job in client.jobs():
        if job.mates and job.state in ("queued", "holding", "ready"):
            with suppress(ClientError):  # it has started since
                client.unlink(job)


@pytest.mark.soak  # histories of conformance have power failures
def test_no_power_failure_in_a_busy_minute_takes_anything_back(make_pair, tmp_path):
    pair = make_pair(scheme="hold", release_interval="2s")
    told = busy(pair, 60, SEED)
    assert {one.what for one in told} == {"submitted", "cancelled", "started"}
    looked, taken_back = failures(pair, told, 10**6, tmp_path)
    assert looked > 1000
    assert taken_back == []
    for number, at in enumerate(random.Random(2).sample(Disk(pair.a).cuts(), 20)):
        restart(pair, told, at, tmp_path / f"again{number}")


@pytest.mark.soak
def test_this_finds_what_is_taken_back_without_synchronisation(make_pair, tmp_path):
    pair = make_pair(scheme="hold", release_interval="2s")
    told = busy(pair, 1, 1, SYNC_LEFT_OUT="1")
    _, taken_back = failures(pair, told, 50, tmp_path)
    assert {text.rpartition(" ")[2] for text in taken_back} >= {"submitted", "started"}
