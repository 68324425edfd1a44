"""Two domains measure how far their clocks are apart, and show it; without its answer a clock stays unknown."""

import math
import re

import pytest

from cosched.client import Peer
from tests.live.scripted_peer import ScriptedPeer
from tests.live.services import Pair, Service, script_that_notes, wait_until, whys
from tests.live.wall_clock import Clock
from tests.live.workloads import is_idle

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


def gauges(service: Service) -> list[float]:
    """Offset and uncertainty of the peer b's clock, as Prometheus scrapes them."""
    values = service.metrics()
    return [values[f'cosched_peer_clock_{name}_seconds{{peer="b"}}'] for name in ("offset", "uncertainty")]


def scraped(service: Service, ahead: float) -> bool:
    """Whether that is what Prometheus is told of the peer b's clock; the two values are not read at one instant."""
    offset, uncertainty = gauges(service)
    return abs(offset - ahead) <= uncertainty + 1e-3


def test_the_offset_is_measured_follows_the_clocks_and_is_shown(make_pair):
    pair = make_pair()
    pair.a.listen_to_http()
    a, b = Clock(pair.a), Clock(pair.b)
    a.set(HOUR)
    pair.a.start()
    assert peer_of(pair.a).clock_offset is None
    assert all(map(math.isnan, gauges(pair.a)))
    b.set(-HOUR)
    pair.b.start()
    wait_until(lambda: measures(pair.a, -2 * HOUR), "a measures the clock of b")
    wait_until(lambda: measures(pair.b, 2 * HOUR), "b measures the clock of a")
    wait_until(lambda: scraped(pair.a, -2 * HOUR), "the metrics tell it")
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
    wait_until(lambda: is_idle(pair), "all have run")
    return sum(len(whys(service, kind="released")) for service in pair.both)


@pytest.mark.soak
def test_pairs_that_hold_need_no_more_releases_where_a_clock_is_wrong(make_pair):
    """Each domain is told until when the other's jobs hold, and gives way to their mates for so long."""
    settings = {"scheme": "hold", "release_interval": "2s", "max_held_fraction": "1"}
    equal, before, behind = (releases(make_pair(**settings), ahead) for ahead in (0, 600, -600))
    assert max(before, behind) <= 1.5 * equal + 10, (equal, before, behind)


def test_a_peer_that_does_not_know_of_clocks_has_none_and_pairs_start_as_ever(make_service):
    service = make_service("a", scheme="hold")
    with ScriptedPeer("b") as peer:
        service.add_peer("b", peer.address)
        with service.start().client() as client:
            wait_until(lambda: peer_of(service).state == "reachable", "a heartbeat")
            job = client.submit(script_that_notes(service.folder), pair="p")
            wait_until(lambda: client.job(job).state == "completed", "it starts with its mate")
        (order,) = peer.calls("TryStartMate")
        assert not order.HasField("start_at")
        assert peer_of(service).clock_offset is None
    assert "unknown" in service.run("domains").stdout.splitlines()[-1]
    assert '"warning"' not in service.log
    assert "UNIMPLEMENTED" not in service.log
