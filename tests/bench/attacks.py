"""`python -m tests.bench.attacks [JOBS]`: calls of a peer while somebody attacks, against the same in quiet.

One service with a history of JOBS jobs and five times as many events. A peer asks it all the while, each way in is
attacked in turn, as in tests/live/test_attacks.py; the figures are the 99th percentiles of the time until an answer.
"""

import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from cosched.service.wire.tls_files import TlsFiles
from tests.live.attacked import Peer, write_history
from tests.live.attacks import under_attack
from tests.live.secured import USERS, secure
from tests.live.services import COMMAND, Service, free_port
from tests.service.pki import Pki

JOBS = 300_000
SECONDS = 20.0  # of each measurement
AT_MOST = 5.0  # times as long as in quiet
KINDS = ("history", "half_open")


def main(jobs: int) -> None:
    """Measure, and print the table."""
    print(f"\nCalls of a peer under attack, {jobs:,} jobs of history: p99 in quiet, attacked, and the ratio")
    for tls in (False, True):
        with tempfile.TemporaryDirectory() as folder:
            _measure(Path(folder), jobs, tls=tls)


def _measure(folder: Path, jobs: int, *, tls: bool) -> None:
    service = Service(folder / "a", "a")
    service.wrapper = COMMAND
    service.config["domain"]["log_level"] = "info"
    service.add_peer("b", f"127.0.0.1:{free_port()}")
    pki = Pki(folder / "pki") if tls else None
    user: TlsFiles | None = None
    if pki is not None:
        pki.files("a"), pki.files("b")
        user = pki.files("ann", user=True)
        other = Service(folder / "b", "b", int(service.config["peer"][0]["address"].rpartition(":")[2]))
        secure(service, pki.folder, [other], user_identity=USERS)
    write_history(service.folder / "state.db", jobs)
    with ExitStack() as stack:
        stack.callback(service.clear)
        service.start()
        for way in ("TLS",) if tls else ("plaintext", "socket"):
            for kind in KINDS:
                quiet = _p99(service, pki)
                with under_attack(kind, service.socket if way == "socket" else service.address, user):
                    attacked = _p99(service, pki)
                missed = "" if attacked / quiet <= AT_MOST else "  MISSED"
                print(
                    f"{way:10} {kind:10} {quiet * 1e3:8.1f} ms {attacked * 1e3:8.1f} ms {attacked / quiet:6.1f}{missed}"
                )


def _p99(service: Service, pki: Pki | None) -> float:
    peer = Peer(service, pki)
    with peer.asking():
        time.sleep(SECONDS)
    assert set(peer.answers) == {"OK"}, peer.answers
    return float(np.percentile(peer.seconds, 99))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else JOBS)
