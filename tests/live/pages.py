"""Three coupled domains with pages, for tests.

Domain a shows people their own jobs; its peer b lets everybody see its jobs, its peer c has no page.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.live.services import Federation
from tests.service.page_clients import PATIENCE, Answer, Asker
from tests.waiting import wait_until

JOB = "#!/bin/sh\nsleep 600\n"


class Pages:
    """Three coupled domains, with a pair of a and b, and one of a and c."""

    def __init__(self, folder: Path) -> None:
        self.federation = Federation(folder, "abc", release_interval=600)
        self.a, self.b, self.c = self.federation.services
        for service, show in ((self.a, "own"), (self.b, "all")):
            service.listen_to_http()
            service.config["domain"]["operators"] = ["op"]
            service.config["page"] = {"show": show, "proxies": ["127.0.0.1"], "max_watchers_per_user": 2}
        self.federation.start()
        with self.a.client() as a, self.b.client() as b, self.c.client() as c:
            self.job = a.submit(JOB, pair="run7", pair_domain="b", time_limit=900, name="<b>fluid</b>")
            mate = b.submit(JOB, pair="run7", pair_domain="a", time_limit=900)
            self.user = self.job.owner
            c.submit(JOB, nodes=4, time_limit=900)
            self.waits = a.submit(JOB, pair="run8", pair_domain="c", time_limit=900)
            c.submit(JOB, pair="run8", pair_domain="a", time_limit=900)
            wait_until(lambda: a.job(self.job).state == b.job(mate).state == "running", "the pair starts")
            wait_until(lambda: a.job(self.waits).state == "holding", "the other one holds")

    async def get(self, path: str, user: str | None = None, domain: str = "a") -> Answer:
        return await self.asker(user, domain).get(path)

    def asker(self, user: str | None = None, domain: str = "a") -> Asker:
        service = self.a if domain == "a" else self.b
        port = int(service.config["domain"]["http"].rpartition(":")[2])
        return Asker(port, {"X-Remote-User": user or self.user})


@asynccontextmanager
async def live(asker: Asker) -> AsyncIterator[asyncio.StreamReader]:
    """The stream of a live page."""
    reader, writer = await asker.connect()
    lines = ["GET /live HTTP/1.1", "Host: x", *(f"{name}: {value}" for name, value in asker.headers.items()), "", ""]
    writer.write("\r\n".join(lines).encode())
    try:
        async with asyncio.timeout(PATIENCE):
            yield reader
    finally:
        writer.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pages]:
    made = Pages(tmp_path_factory.mktemp("pages"))
    with made.federation:
        yield made
        assert not made.federation.faults()
