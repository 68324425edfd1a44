"""A page with 10,000 jobs that 100 people look at, live: what it costs the service."""

import asyncio
import os
import time
from pathlib import Path
from statistics import quantiles
from typing import Any

import pytest

from cosched.client import AsyncClient
from tests.live.pages import live
from tests.service.page_clients import PATIENCE, Asker

pytestmark = pytest.mark.soak
JOBS, AT_ONCE, PEOPLE, SECONDS = 10_000, 16, 100, 40
JOB = "#!/bin/sh\n"


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def megabytes(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


async def submit(client: AsyncClient, numbers: Any, options: dict[str, Any]) -> None:
    for number in numbers:
        await client.submit(JOB, pair=f"run{number}", name=f"job {number}", hold=True, **options)


async def look(asker: Asker, took: list[float]) -> None:
    """Read the page, and again whenever it says that it has changed."""
    async with live(asker) as reader:
        while True:
            began = time.monotonic()
            answer = await asker.get("/")
            took.append(time.monotonic() - began)
            assert answer.status == 200, answer.text
            assert f"1 to 25 of {JOBS}" in answer.text
            await reader.readuntil(b"event: changed")


async def test_many_jobs_and_many_people(make_pair, tmp_path) -> None:
    pair = make_pair()
    port = int(pair.a.listen_to_http().rpartition(":")[2])
    pair.a.config["domain"] |= {"log_level": "info", "max_jobs_per_user": 2 * JOBS}
    pair.a.config["page"] = {"show": "all", "proxies": ["127.0.0.1"]}
    pair.start()
    pid = pair.a.process.pid
    options = {"pair_domain": "b", "directory": tmp_path}
    async with AsyncClient(pair.a.socket, timeout=PATIENCE) as client:
        await asyncio.gather(*(submit(client, range(part, JOBS, AT_ONCE), options) for part in range(AT_ONCE)))
        await asyncio.sleep(5)
        idle, before = cpu_seconds(pid), megabytes(pid)
        await asyncio.sleep(10)
        idle = (cpu_seconds(pid) - idle) / 10
        took: list[float] = []
        people = [asyncio.create_task(look(Asker(port, {"X-Remote-User": f"u{n}"}), took)) for n in range(PEOPLE)]
        spent, began, calls = cpu_seconds(pid), time.monotonic(), []
        while time.monotonic() < began + SECONDS:
            asked = time.monotonic()
            job = await client.submit(JOB, hold=True, directory=tmp_path)
            await client.cancel(job)
            calls.append(time.monotonic() - asked)
            await asyncio.sleep(0.5)
        busy = (cpu_seconds(pid) - spent) / (time.monotonic() - began)
        for task in people:
            assert not task.done(), task.exception()
            task.cancel()
        await asyncio.gather(*people, return_exceptions=True)
    slow, slow_call = quantiles(took, n=20)[-1], quantiles(calls, n=20)[-1]
    print(
        f"{JOBS} jobs, {PEOPLE} people, {len(took) / SECONDS:.1f} pages a second: {busy:.2f} CPU "
        f"(without: {idle:.2f}), {megabytes(pid):.0f} MB (without: {before:.0f}); 95 % of pages within {slow:.2f} s, "
        f"of pairs of calls within {slow_call:.2f} s"
    )
    assert pair.a.faults() == []
    assert busy < 1.0
    assert megabytes(pid) < before + 100
    assert len(took) > PEOPLE * SECONDS / 20
