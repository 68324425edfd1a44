"""`python -m tests.bench.durability`: what it costs that whatever is answered is on disk, against services that answer
without (`unsynchronised`), in the same run; and what the disk's own synchronisation costs.
"""

import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.bench import unsynchronised
from tests.bench.peer_calls import decisions, queue_pairs, without_peer
from tests.live.services import COMMAND, Service

ROUNDS = 3  # of each kind of service, in turn
SUBMISSIONS, AT_ONCE, BURST = 100, 8, 100
SYNCS = 100
KINDS = {"before": (sys.executable, unsynchronised.__file__), "now": COMMAND}
ROWS = {
    "one": "submit, one after the other",
    "eight": f"submit, {AT_ONCE} at once",
    "burst": f"{BURST} submissions at once, all answered",
    "decision": "a decision with TryStartMate",
}


def main() -> None:
    """Measure, and print the table: medians in milliseconds, and ratios."""
    times: dict[str, dict[str, list[float]]] = {row: {kind: [] for kind in KINDS} for row in ROWS}
    with tempfile.TemporaryDirectory() as folder:
        disk = statistics.median(_syncs(Path(folder)))
        for number in range(ROUNDS):
            for kind in KINDS:
                with without_peer(Path(folder, f"{kind}{number}"), max_jobs_per_user=10_000) as service:
                    service.wrapper = KINDS[kind]
                    for row, seconds in _measure(service.start()).items():
                        times[row][kind] += seconds
    load = f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    print(f"\nSynchronised answers ({load}); the disk's own fdatasync takes {disk * 1e3:.2f} ms")
    print(f"{'':40} {'before':>9} {'now':>9} {'ratio':>7}")
    for row, name in ROWS.items():
        before, now = (statistics.median(times[row][kind]) * 1e3 for kind in KINDS)
        print(f"{name:40} {before:>6.2f} ms {now:>6.2f} ms {now / before:>7.2f}")


def _syncs(folder: Path) -> Iterator[float]:
    """Seconds of the disk's own synchronisation, of three pages written at the end of a file."""
    with (folder / "file").open("wb", buffering=0) as file:
        for _ in range(SYNCS):
            file.write(bytes(3 * 4096))
            began = time.perf_counter()
            os.fdatasync(file.fileno())
            yield time.perf_counter() - began


def _measure(service: Service) -> dict[str, list[float]]:
    """Seconds of each row's work."""
    with service.client() as client:
        queue_pairs(client)
    return {
        "decision": asyncio.run(decisions(service.address)),
        "one": _submit(service, SUBMISSIONS),
        "eight": [seconds for each in _together(service, AT_ONCE, SUBMISSIONS // AT_ONCE) for seconds in each],
        "burst": [max(each[-1] for each in _together(service, BURST, 1))],
    }


def _submit(service: Service, count: int) -> list[float]:
    with service.client() as client:
        client.domain()  # it is connected
        times = []
        for _ in range(count):
            began = time.perf_counter()
            client.submit("#!/bin/sh\n", hold=True)
            times.append(time.perf_counter() - began)
        return times


def _together(service: Service, clients: int, each: int) -> list[list[float]]:
    with ThreadPoolExecutor(clients) as pool:
        return list(pool.map(lambda _: _submit(service, each), range(clients)))


if __name__ == "__main__":
    main()
