"""Live replays of small cases: the services run in a thread of this process, to save their starts."""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from cosched_sim.federation.live_player import LivePlayer
from cosched_sim.live.replaying import LiveReplay
from cosched_sim.replaying import Replay
from tests.live.loop import Loop


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
