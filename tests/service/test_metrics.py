"""Metrics as Prometheus reads them."""

import math

from prometheus_client.parser import text_string_to_metric_families

from cosched.core.scheduling.starts import Starts
from cosched.service.metrics import JOB_STATES, MAX_OWNERS, NODE_STATES, OTHER_OWNERS, SLOTS, Metrics


def samples(metrics: Metrics) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    families = text_string_to_metric_families(metrics.text().decode())
    return {(s.name, tuple(sorted(s.labels.items()))): s.value for family in families for s in family.samples}


def value(metrics: Metrics, name: str, **labels: str) -> float:
    return samples(metrics)[name, tuple(sorted(labels.items()))]


EXPECTED = """
    build_info jobs nodes starts_total holds_total yields_total releases_total held_node_seconds_total pair_gap_seconds
    peer_up peer_calls_total peer_call_seconds pair_starts_total peer_clock_offset_seconds
    peer_clock_uncertainty_seconds peer_illegal_total peer_news_missed_total peer_refused requests_total
    request_seconds iteration_seconds commit_seconds store_stalled sync_seconds drained_until_timestamp_seconds
    slots_total slots_dropped_total booked_nodes starts_before_turn_total pushed_seconds_total
    booked_node_seconds_total account_held_node_seconds account_held_node_seconds_limit owner_starts
    owner_starts_before_turn owner_pushed_seconds database_bytes certificate_expiry_timestamp_seconds
    clock_steps_total denied_total harvests_in_vain_total launch_failures_total
"""


def observed() -> Metrics:
    metrics = Metrics("1.2.3")
    metrics.peer_up("eureka").set(1)
    metrics.peer_refused("eureka").set(0)
    metrics.peer_clock_offset("eureka").set(-0.002)
    metrics.peer_clock_uncertainty("eureka").set_function(lambda: math.nan)
    metrics.peer_call("eureka", "StartJob", "ok", 0.004)
    metrics.request("GetMateStatus", "OK", 0.001)
    metrics.denied("NOT_OWNER").inc()
    metrics.slots_dropped("not_claimed").inc()
    metrics.certificate_expiry("/etc/cert.pem").set(2e9)
    return metrics


def test_all_metrics_have_their_names_and_help_and_nothing_is_said_twice() -> None:
    lines = observed().text().decode().splitlines()
    names = {line.split()[2] for line in lines if line.startswith("# HELP cosched_")}
    assert names == {f"cosched_{name}" for name in EXPECTED.split()}
    assert not [name for name, _ in samples(observed()) if name.endswith("_created")]


def test_process_and_interpreter_are_measured_too() -> None:
    names = {name for name, _ in samples(Metrics("1"))}
    assert {"process_resident_memory_bytes", "process_open_fds", "python_info"} <= names
    assert any(name.startswith("python_gc_") for name in names)


def test_series_of_fixed_labels_are_there_from_the_beginning() -> None:
    metrics = Metrics("1.2.3")
    assert value(metrics, "cosched_build_info", version="1.2.3") == 1
    assert [value(metrics, "cosched_jobs", state=state) for state in JOB_STATES] == [0] * 4
    assert [value(metrics, "cosched_nodes", state=state) for state in NODE_STATES] == [0] * 5
    assert [value(metrics, "cosched_starts_total", kind=kind) for kind in ("paired", "alone", "unpaired")] == [0] * 3
    assert value(metrics, "cosched_holds_total") == 0
    assert [value(metrics, "cosched_slots_total", what=what) for what in SLOTS] == [0] * 4
    assert [value(metrics, "cosched_pair_starts_total", kind=kind) for kind in ("agreed", "at_once")] == [0] * 2


def test_what_is_observed_is_read() -> None:
    metrics = observed()
    metrics.jobs["queued"].set(7)
    metrics.nodes["held"].set_function(lambda: 3)
    metrics.starts["alone"].inc()
    metrics.held_node_seconds.inc(600)
    metrics.pair_gap.observe(0)
    metrics.commit.observe(0.002)
    assert value(metrics, "cosched_jobs", state="queued") == 7
    assert value(metrics, "cosched_nodes", state="held") == 3
    assert value(metrics, "cosched_starts_total", kind="alone") == 1
    assert value(metrics, "cosched_held_node_seconds_total") == 600
    assert value(metrics, "cosched_pair_gap_seconds_bucket", le="0.0") == 1
    assert value(metrics, "cosched_commit_seconds_sum") == 0.002
    assert value(metrics, "cosched_peer_up", peer="eureka") == 1
    assert value(metrics, "cosched_peer_clock_offset_seconds", peer="eureka") == -0.002
    assert math.isnan(value(metrics, "cosched_peer_clock_uncertainty_seconds", peer="eureka"))
    assert value(metrics, "cosched_peer_calls_total", peer="eureka", call="StartJob", outcome="ok") == 1
    assert value(metrics, "cosched_peer_call_seconds_bucket", peer="eureka", call="StartJob", le="0.005") == 1
    assert value(metrics, "cosched_requests_total", call="GetMateStatus", code="OK") == 1
    assert value(metrics, "cosched_denied_total", reason="NOT_OWNER") == 1
    assert value(metrics, "cosched_certificate_expiry_timestamp_seconds", file="/etc/cert.pem") == 2e9


def test_of_owners_with_starts_before_their_turn_metrics_have_the_first_by_rank() -> None:
    metrics = Metrics("1")
    many = {f"u{number:02}": Starts(100, number, 10 * number) for number in range(MAX_OWNERS + 3)}
    metrics.owners_starts.read = lambda: many
    found = {labels: sample for (name, labels), sample in samples(metrics).items() if name == "cosched_owner_starts"}
    assert {dict(labels)["rank"] for labels in found} == {OTHER_OWNERS, *(f"{n}" for n in range(1, MAX_OWNERS + 1))}
    assert value(metrics, "cosched_owner_starts_before_turn", rank="1") == 22
    assert value(metrics, "cosched_owner_pushed_seconds", rank=OTHER_OWNERS) == 30
    assert value(metrics, "cosched_owner_starts", rank=OTHER_OWNERS) == 200  # u00 had none before its turn
    assert b"u22" not in metrics.text()


def test_two_services_in_one_process_do_not_mix() -> None:
    one, two = Metrics("1"), Metrics("1")
    one.holds.inc()
    assert (value(one, "cosched_holds_total"), value(two, "cosched_holds_total")) == (1, 0)
