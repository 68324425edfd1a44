"""Live replays of small cases: the services run in a thread of this process, to save their starts."""

import asyncio
import threading
from collections.abc import Iterable, Iterator
from contextlib import AsyncExitStack, ExitStack, contextmanager
from pathlib import Path
from typing import Any

from cosched.service.configuration import read_configuration
from cosched.service.service import Service
from cosched_sim.federation.live_player import LivePlayer
from cosched_sim.live.local_process import toml
from cosched_sim.live.replaying import LiveReplay
from cosched_sim.replaying import Replay


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


class ThreadedReplay(LiveReplay):
    """A live replay whose services, sockets and databases are as ever, but in this process."""

    loop: Loop

    @contextmanager
    def start(self, places: Iterable[tuple[Path, dict[str, Any]]]) -> Iterator[list[LivePlayer]]:
        with ExitStack() as stack:
            players = []
            for folder, sections in list(places):
                folder.mkdir()
                stack.enter_context(self.loop.serve(folder, sections))
                players.append(LivePlayer(sections["domain"]["name"], f"unix:{folder / 'socket'}", lambda: None))
            for player in players:
                stack.callback(player.close)
            yield players


def assert_equal(config: Any, live: type[LiveReplay]) -> Any:
    """The live replay's results are the simulation's; which it gives back."""
    simulated, played = Replay(config).run(), live(config).run()
    assert played.jobs.write_csv() == simulated.jobs.write_csv()
    for name in simulated.domains:
        assert played.allocation_frame(name).write_csv() == simulated.allocation_frame(name).write_csv()
    wanted, found = simulated.summary(), played.summary()
    del wanted["timing"], found["timing"]
    assert found == wanted
    return simulated
