"""A disk that fails to synchronise: nothing leaves the domain, the service says so and ends, and goes on when started.

After a failed fdatasync the kernel may count pages as written that are not, so that a second one proves nothing. Only a
service that begins again from its log, and writes that once more, knows what is on disk.
"""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.live.disk_faults import build_shim, preload
from tests.live.kill_campaign import PatientClient
from tests.live.services import PATIENCE, noted, script_that_notes, wait_until, whys


@pytest.mark.soak  # tests/service/test_durability.py has what waits for a disk
def test_nothing_leaves_a_domain_whose_disk_fails_and_all_goes_on_when_it_is_well(make_pair, tmp_path):
    pair = make_pair(scheme="hold", peer_grace="10m", release_interval="10m")
    broken, script = tmp_path / "broken", script_that_notes(tmp_path)  # while there is this file, a's disk is broken
    preload(pair.a, build_shim(tmp_path), BROKEN_DISK=str(broken))
    pair.start()
    with pair.b.client() as b, ThreadPoolExecutor(1) as pool, PatientClient(pair.a) as patient:
        mate = b.submit(script, pair="p")
        wait_until(lambda: b.job(mate).state == "holding", "it waits for its mate")
        broken.touch()
        submitting = pool.submit(patient.submit, script, pair="p")
        assert pair.a.process.wait(PATIENCE) == 1
        assert "Input/output error" in pair.a.log
        assert "cannot be flushed to disk" in pair.a.log

        pair.a.start(wait=False)  # as systemd does, again and again
        assert pair.a.process.wait(PATIENCE) == 1
        assert pair.a.log.rstrip().endswith("state.db: Input/output error")
        assert not submitting.done()
        assert b.job(mate).state == "holding"
        assert b.job(mate).mates[0].lookup != "found"
        assert noted(tmp_path) == []

        broken.unlink()
        pair.a.start()
        submitting.result()
        with pair.a.client() as a:
            wait_until(lambda: not a.jobs() and not b.jobs(), "both have ended")
            assert [job.mates[0].pair for job in a.jobs(["completed"])] == ["p"]
    assert whys(pair.b, mate)[0] != "PeerUnreachable"
    assert sorted(start[0] for start in noted(tmp_path)) == ["a", "b"]
