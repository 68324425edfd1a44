"""What a service counts, as Prometheus scrapes it."""

from urllib.request import urlopen

from tests.live.services import PATIENCE, free_port, script_that_notes, wait_until


def counted(url: str) -> dict[str, float]:
    """The values of all series, by name and labels as they stand there."""
    with urlopen(url, timeout=PATIENCE) as answer:
        lines = answer.read().decode().splitlines()
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines if line[0] != "#")}


def test_lost_node_time_failed_launches_and_peers_are_counted(make_pair):
    pair = make_pair(scheme="hold", release_interval="1s", on_peer_unreachable="hold")
    service, port = pair.a, free_port()  # its peer is not there
    service.config["domain"]["http"] = f"127.0.0.1:{port}"
    service.start()
    url = f"http://127.0.0.1:{port}/metrics"
    script = script_that_notes(pair.folder)
    with service.client() as client:
        client.submit(script, nodes=2, pair="p")
        client.submit(script, directory=str(pair.folder / "nowhere"))
        found = wait_until(
            lambda: (
                (now := counted(url))["cosched_held_node_seconds_total"] > 0
                and now["cosched_launch_failures_total"] == 1
                and 'cosched_peer_up{peer="b"}' in now
                and now
            ),
            "holds that ended, and a launch that failed",
        )
    assert found["cosched_held_node_seconds_total"] % 2 == 0
    assert (found['cosched_peer_up{peer="b"}'], found['cosched_peer_refused{peer="b"}']) == (0, 0)
