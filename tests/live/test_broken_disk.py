"""A disk that fails to synchronise: nothing leaves the domain, the service says so and ends, and goes on when started.

After a failed fdatasync the kernel may count pages as written that are not, so that a second one proves nothing. Only a
service that begins again from its log, and writes that once more, knows what is on disk.
"""

import threading
from pathlib import Path

import pytest

from tests.live.disk_faults import build_shim
from tests.live.kill_campaign import PatientClient
from tests.live.services import COMMAND, PATIENCE, Service, noted, script_that_notes, wait_until


@pytest.fixture
def shim(tmp_path: Path) -> Path:
    return build_shim(tmp_path)


def breakable(service: Service, shim: Path) -> Path:
    """From its next start on its disk is broken while this file exists."""
    broken = service.folder / "broken"
    service.wrapper = COMMAND  # a library is preloaded where a command starts, not where a process is forked
    service.environment.update(LD_PRELOAD=str(shim), BROKEN_DISK=str(broken))
    return broken


def submit_patiently(service: Service, folder: Path, acknowledged: threading.Event) -> threading.Thread:
    """Submit the mate of b's job, with one request id, again and again until there is an answer."""

    def submit() -> None:
        with PatientClient(service.socket) as client:
            client.submit(script_that_notes(folder), pair="p", directory=folder)
        acknowledged.set()

    thread = threading.Thread(target=submit, daemon=True)
    thread.start()
    return thread


@pytest.mark.soak  # tests/service/test_durability.py has what waits for a disk
def test_nothing_leaves_a_domain_whose_disk_fails_and_all_goes_on_when_it_is_well(make_pair, shim, tmp_path):
    pair = make_pair(scheme="hold", peer_grace="10m", release_interval="10m")
    broken, acknowledged = breakable(pair.a, shim), threading.Event()
    pair.start()
    with pair.b.client() as b:
        mate = b.submit(script_that_notes(tmp_path), pair="p", directory=tmp_path)
        wait_until(lambda: b.job(mate).state == "holding", "it waits for its mate")
        broken.touch()
        submitting = submit_patiently(pair.a, tmp_path, acknowledged)
        assert pair.a.process.wait(PATIENCE) == 1
        assert "Input/output error" in pair.a.log
        assert "cannot be flushed to disk" in pair.a.log

        pair.a.start(wait=False)  # as systemd does, again and again
        assert pair.a.process.wait(PATIENCE) == 1
        assert pair.a.log.rstrip().endswith("state.db: Input/output error")
        assert not acknowledged.is_set()
        assert b.job(mate).state == "holding"
        assert b.job(mate).mates[0].lookup != "found"
        assert noted(tmp_path) == []

        broken.unlink()
        pair.a.start()
        submitting.join()
        with pair.a.client() as a:
            wait_until(lambda: not a.jobs() and not b.jobs(), "both have ended")
            assert [job.mates[0].pair for job in a.jobs(["completed"])] == ["p"]
        (why,) = [event.detail["why"] for event in b.events(0, [mate], ["started"], until_now=True)]
    assert why != "PeerUnreachable"
    assert sorted(start[0] for start in noted(tmp_path)) == ["a", "b"]
