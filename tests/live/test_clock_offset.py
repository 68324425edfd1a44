"""Two domains measure how far their clocks are apart, and show it; without its answer a clock stays unknown."""

import math
import re
from urllib.request import urlopen

import pytest

from cosched.client import Peer
from tests.live.scripted_peer import ScriptedPeer
from tests.live.services import PATIENCE, Pair, Service, free_port, script_that_notes, wait_until
from tests.live.wall_clock import Clock

HOUR = 3600
ROUNDING = 2e-6  # seconds, of timedelta


def peer_of(service: Service) -> Peer:
    """Its peer, as it shows it."""
    with service.client() as client:
        (peer,) = client.domain().peers
    return peer


def measures(service: Service, ahead: float) -> bool:
    """Whether its peer's clock is ahead by so much as far as it knows: within the uncertainty that it tells."""
    peer = peer_of(service)
    if peer.clock_offset is None or peer.clock_uncertainty is None:
        return False
    uncertainty = peer.clock_uncertainty.total_seconds()
    assert 0 < uncertainty < 60  # much less than what the clocks are set by
    return abs(peer.clock_offset.total_seconds() - ahead) <= uncertainty + ROUNDING


def gauges(port: int) -> tuple[float, float]:
    """Offset and uncertainty of the peer b's clock, as Prometheus scrapes them."""
    with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=PATIENCE) as answer:
        values = dict(line.rsplit(" ", 1) for line in answer.read().decode().splitlines() if line[0] != "#")
    offset, uncertainty = (
        float(values[f'cosched_peer_clock_{name}_seconds{{peer="b"}}']) for name in ("offset", "uncertainty")
    )
    return offset, uncertainty


def scraped(port: int, ahead: float) -> bool:
    """Whether that is what Prometheus is told of the peer b's clock; the two values are not read at one instant."""
    offset, uncertainty = gauges(port)
    return abs(offset - ahead) <= uncertainty + 1e-3


def test_the_offset_is_measured_follows_the_clocks_and_is_shown(make_pair):
    pair, port = make_pair(), free_port()
    pair.a.config["domain"]["http"] = f"127.0.0.1:{port}"
    a, b = Clock(pair.a), Clock(pair.b)
    a.set(HOUR)
    pair.a.start()
    assert peer_of(pair.a).clock_offset is None
    assert all(map(math.isnan, gauges(port)))
    b.set(-HOUR)
    pair.b.start()
    wait_until(lambda: measures(pair.a, -2 * HOUR), "a measures the clock of b")
    wait_until(lambda: measures(pair.b, 2 * HOUR), "b measures the clock of a")
    wait_until(lambda: scraped(port, -2 * HOUR), "the metrics tell it")
    shown = re.compile(r" -7,(199\.9|200\.0)\d\d s ± \d+\.\d ms ")
    wait_until(lambda: shown.search(pair.a.run("domains").stdout), "it is shown, as soon as it is known so well")
    a.set(0)
    assert measures(pair.a, -HOUR)  # a knows of its own step without a heartbeat
    wait_until(lambda: measures(pair.b, HOUR), "b hears of the step with its next heartbeat")


PAIRS = 30


def releases(pair: Pair, ahead: int) -> int:
    """Holds that were ended by force until pairs that were submitted crosswise had all run, one clock so far ahead."""
    a, b = Clock(pair.a), Clock(pair.b)
    a.set(ahead)
    b.set(0)
    pair.start()
    wait_until(lambda: measures(pair.a, -ahead) and measures(pair.b, ahead), "the clocks are known")
    order = {pair.a: range(PAIRS), pair.b: range(PAIRS)[::-1]}
    for service, numbers in order.items():
        with service.client() as client:
            for number in numbers:
                client.submit(script_that_notes(pair.folder), pair=f"p{number}", nodes=2)
    clients = [service.client() for service in pair.both]
    wait_until(lambda: not any(client.jobs() for client in clients), "all have run", 600)
    found = [list(client.events(after=0, kinds=["released"], until_now=True)) for client in clients]
    for client in clients:
        client.close()
    return sum(map(len, found))


@pytest.mark.soak
def test_pairs_that_hold_need_no_more_releases_where_a_clock_is_wrong(make_pair):
    """Each domain is told until when the other's jobs hold, and gives way to their mates for so long."""
    settings = {"scheme": "hold", "release_interval": "2s", "max_held_fraction": "1"}
    equal, before, behind = (releases(make_pair(**settings), ahead) for ahead in (0, 600, -600))
    assert max(before, behind) <= 1.5 * equal + 10, (equal, before, behind)


@pytest.fixture
def older(make_service):
    """The domain a, whose peer b does not know of clocks; and b."""
    service = make_service("a", scheme="hold")
    with ScriptedPeer("b") as peer:
        service.add_peer("b", peer.address)
        yield service.start(), peer


def test_a_peer_of_an_older_version_has_no_clock_and_pairs_start_as_ever(older):
    service, peer = older
    wait_until(lambda: peer_of(service).state == "reachable", "a heartbeat")
    with service.client() as client:
        job = client.submit(script_that_notes(service.folder), pair="p")
        wait_until(lambda: client.job(job).state == "completed", "it starts with its mate")
    (order,) = peer.calls("TryStartMate")
    assert not order.HasField("start_at")
    assert peer_of(service).clock_offset is None
    assert "unknown" in service.run("domains").stdout.splitlines()[-1]
    assert '"warning"' not in service.log
    assert "UNIMPLEMENTED" not in service.log
