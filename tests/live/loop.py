"""Services in this process, on an event loop in a thread."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import Any

from cosched.service.configuration import read_configuration
from cosched.service.service import Service
from tests.live.services import toml


class Loop:
    """An event loop in a thread."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.thread.start()

    def run(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(60)

    @contextmanager
    def serve(self, folder: Path, sections: dict[str, Any]) -> Iterator[Service]:
        """A service with this configuration."""
        (folder / "domain.toml").write_text(toml(sections))
        service, opened = Service(read_configuration(folder / "domain.toml")), AsyncExitStack()
        try:
            self.run(service._open(opened))
            yield service
        finally:
            self.run(opened.aclose())

    def close(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()
