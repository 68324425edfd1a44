"""What a service counts, as Prometheus scrapes it."""

import pytest

from tests.live.services import script_that_notes, script_that_waits, wait_until


def test_lost_node_time_failed_launches_and_peers_are_counted(make_pair):
    pair = make_pair(scheme="hold", release_interval="1s", on_peer_unreachable="hold")
    service, script = pair.a, script_that_notes(pair.folder)
    service.listen_to_http()
    with service.start().client() as client:  # its peer is not there
        client.submit(script, nodes=2, pair="p")
        client.submit(script, directory=str(pair.folder / "nowhere"))
        found = wait_until(
            lambda: (
                (now := service.metrics())["cosched_held_node_seconds_total"] > 0
                and now["cosched_launch_failures_total"] == 1
                and 'cosched_peer_up{peer="b"}' in now
                and now
            ),
            "holds that ended, and a launch that failed",
        )
    assert found["cosched_held_node_seconds_total"] % 2 == 0
    assert (found['cosched_peer_up{peer="b"}'], found['cosched_peer_refused{peer="b"}']) == (0, 0)


@pytest.mark.soak
def test_a_user_s_start_before_the_turn_is_counted_also_after_a_restart(make_pair):
    """Of 4 nodes a job has 2 for a minute at most, the next one needs all, and that of the pair pushes it by 20 s."""
    pair = make_pair(scheme="meet")
    service = pair.a
    service.listen_to_http()
    service.config["coscheduling"]["mate_budget_share"] = 0.5
    pair.start()
    with pair.a.client() as a, pair.b.client() as b:
        a.submit(script_that_waits(pair.folder, pair.folder / "go"), nodes=2, time_limit=60)
        a.submit(script_that_notes(pair.folder), nodes=4, time_limit=60)
        a.submit(script_that_notes(pair.folder), pair="p", nodes=2, time_limit=80)
        b.submit(script_that_notes(pair.folder), pair="p", nodes=2)
        wait_until(lambda: service.metrics()["cosched_starts_before_turn_total"] == 1, "it starts for its mate")
    pushed = service.metrics()["cosched_pushed_seconds_total"]
    assert 15 <= pushed <= 25
    service.stop()
    found, mine = service.start().metrics(), '{rank="1"}'
    assert found[f"cosched_owner_starts{mine}"] == 2
    assert found[f"cosched_owner_starts_before_turn{mine}"] == 1
    assert found[f"cosched_owner_pushed_seconds{mine}"] == pushed
    (pair.folder / "go").touch()
