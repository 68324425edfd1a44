"""The service's Prometheus metrics: `cosched_*`, in base units, without names of jobs or users as labels.

Other modules use the attributes. Series with fixed labels are cached in tables, since finding one costs more than
counting. `Gauge.set_function` makes a gauge be read when it is scraped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, reduce

import prometheus_client
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from cosched.core.scheduling.starts import Starts

JOB_STATES = ("queued", "ready", "holding", "running")
NODE_STATES = ("idle", "busy", "held", "down", "unknown")
SLOTS = ("set", "moved", "started", "early")

MAX_OWNERS = 20
OTHER_OWNERS = "others"

_CALL_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 30)
_WORK_SECONDS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5)
_GAP_SECONDS = (0, 1, 2, 5, 10, 30, 60, 300, 1200, 3600, 14400, 86400)


class Metrics:
    """All metrics of one service, in its own registry."""

    def __init__(self, version: str) -> None:
        prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]  # they double the number of series
        self.registry = CollectorRegistry()
        self.owners_starts = OwnersStarts()
        self.registry.register(self.owners_starts)
        prometheus_client.Info("cosched_build", "The software.", registry=self.registry).info({"version": version})
        self._add_scheduling()
        self._add_calls()
        self._add_health()
        prometheus_client.ProcessCollector(registry=self.registry)
        prometheus_client.PlatformCollector(registry=self.registry)
        prometheus_client.GCCollector(registry=self.registry)

    def text(self) -> bytes:
        """Return all metrics in Prometheus' text format, version 0.0.4."""
        return prometheus_client.generate_latest(self.registry)

    def _add_scheduling(self) -> None:
        counter, gauge, histogram = self._counter, self._gauge, self._histogram
        jobs = gauge("jobs", "Jobs that have not ended, by state.", "state")
        self.jobs = {state: jobs.labels(state) for state in JOB_STATES}
        nodes = gauge("nodes", "Nodes, by state.", "state")
        self.nodes = {state: nodes.labels(state) for state in NODE_STATES}
        starts = counter("starts", "Jobs started: with their mate, without it, or that had none.", "kind")
        self.starts = {kind: starts.labels(kind) for kind in ("paired", "alone", "unpaired")}
        text = "Mates that a peer has started for a job here: at an agreed instant, or at once."
        pair_starts = counter("pair_starts", text, "kind")
        self.pair_starts = {kind: pair_starts.labels(kind) for kind in ("agreed", "at_once")}
        text = "Jobs started before their turn, since their mates had asked for them."
        self.starts_before_turn = counter("starts_before_turn", text)
        text = "By how much these starts have pushed the planned start of the queue's first job."
        self.pushed_seconds = counter("pushed_seconds", text)
        self.holds = counter("holds", "Holds begun.")
        self.yields = counter("yields", "Jobs that yielded.")
        self.releases = counter("releases", "Holds that ended without a start.")
        text = (
            "Slots agreed on with a peer: set, moved to an earlier instant, started at, or ended by an earlier start."
        )
        slots = counter("slots", text, "what")
        self.slots = {what: slots.labels(what) for what in SLOTS}
        self.slots_dropped = cache(counter("slots_dropped", "Slots that were lost, by reason.", "reason").labels)
        self.booked_nodes = gauge("booked_nodes", "Nodes that queued jobs have booked for their slots.")
        text = "Time that nodes were kept unused by holds that have ended."
        self.held_node_seconds = counter("held_node_seconds", text)
        text = "Time that nodes were kept unused while peers were asked about mates."
        self.booked_node_seconds = counter("booked_node_seconds", text)
        text = "What jobs of an account with a budget have held in a day."
        self.account_held = cache(gauge("account_held_node_seconds", text, "account").labels)
        limit = gauge("account_held_node_seconds_limit", "What they may hold in a day.", "account")
        self.account_budget = cache(limit.labels)
        self.pair_gap = histogram("pair_gap_seconds", "How far apart the jobs of a pair began.", _GAP_SECONDS)
        self.iteration = histogram("iteration_seconds", "Scheduling iterations.", _WORK_SECONDS)
        self.harvests_in_vain = counter("harvests_in_vain", "Harvests for jobs whose mates could not start then.")
        self.launch_failures = counter("launch_failures", "Jobs that the resource manager could not start.")

    def _add_calls(self) -> None:
        """Add those whose labels come from fixed sets: configured peers, the protocol's calls, codes and reasons."""
        counter, gauge, histogram = self._counter, self._gauge, self._histogram
        self.peer_up = cache(gauge("peer_up", "Whether the other domain answered the last call.", "peer").labels)
        text = "1 while the other domain refuses this one (a misconfiguration), else 0."
        self.peer_refused = cache(gauge("peer_refused", text, "peer").labels)
        text = "Calls to other domains, by what became of them."
        self._peer_calls = cache(counter("peer_calls", text, "peer", "call", "outcome").labels)
        text = "Calls to other domains, until the answer."
        self._peer_call_seconds = cache(histogram("peer_call_seconds", text, _CALL_SECONDS, "peer", "call").labels)
        text = "How far the other domain's clock is ahead; NaN: not known."
        self.peer_clock_offset = cache(gauge("peer_clock_offset_seconds", text, "peer").labels)
        text = "By how much the offset may be wrong; NaN: not known."
        self.peer_clock_uncertainty = cache(gauge("peer_clock_uncertainty_seconds", text, "peer").labels)
        self._requests = cache(counter("requests", "Calls answered, by gRPC code.", "call", "code").labels)
        request_seconds = histogram("request_seconds", "Calls, until answered.", _CALL_SECONDS, "call")
        self._request_seconds = cache(request_seconds.labels)
        text = "Messages of the other domain that no state of a job here allows."
        self.peer_illegal = cache(counter("peer_illegal", text, "peer").labels)
        text = "What the other domain told of its jobs that no job here starts with, or that was told before."
        self.peer_news_missed = cache(counter("peer_news_missed", text, "peer").labels)
        self.denied = cache(counter("denied", "Calls refused to a caller, by ErrorInfo reason.", "reason").labels)

    def _add_health(self) -> None:
        counter, gauge, histogram = self._counter, self._gauge, self._histogram
        self.commit = histogram("commit_seconds", "Commits to the database.", _WORK_SECONDS)
        text = "How long it took to bring commits to disk, many at once."
        self.sync = histogram("sync_seconds", text, _WORK_SECONDS)
        self.store_stalled = gauge("store_stalled", "1 while the database cannot be written, else 0.")
        text = "When a domain that drains is to be resumed; NaN: it does not."
        self.drained_until = gauge("drained_until_timestamp_seconds", text)
        self.database_bytes = gauge("database_bytes", "Size of the database's files.")
        expiry = gauge("certificate_expiry_timestamp_seconds", "When the certificates in a file expire.", "file")
        self.certificate_expiry = cache(expiry.labels)
        self.clock_steps = counter("clock_steps", "Steps of the wall clock.")

    def peer_call(self, peer: str, call: str, outcome: str, seconds: float) -> None:
        """Count a call to another domain, its outcome, and its duration in seconds."""
        self._peer_calls(peer, call, outcome).inc()
        self._peer_call_seconds(peer, call).observe(seconds)

    def request(self, call: str, code: str, seconds: float) -> None:
        """Count an answered call, its gRPC code, and its duration in seconds."""
        self._requests(call, code).inc()
        self._request_seconds(call).observe(seconds)

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"cosched_{name}", text, labels, registry=self.registry)

    def _gauge(self, name: str, text: str, *labels: str) -> Gauge:
        return Gauge(f"cosched_{name}", text, labels, registry=self.registry)

    def _histogram(self, name: str, text: str, buckets: Iterable[float], *labels: str) -> Histogram:
        return Histogram(f"cosched_{name}", text, labels, buckets=tuple(buckets), registry=self.registry)


class OwnersStarts(Collector):
    """Gauges of the starts of the last week, of the owners with most starts before their turn, and of the others."""

    def __init__(self) -> None:
        self.read: Callable[[], Mapping[str, Starts]] = dict  # by owner; set by the service

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """See the library's Collector."""
        owners = _most_before_turn(self.read())
        for field, name, text in (
            ("started", "starts", "Jobs started in the last 7 days, of owners with starts before their turn."),
            ("before_turn", "starts_before_turn", "Jobs of theirs started before their turn in the last 7 days."),
            ("pushed", "pushed_seconds", "By how much these pushed the planned start of the queue's first job."),
        ):
            family = GaugeMetricFamily(f"cosched_owner_{name}", text, labels=["rank"])
            for rank, starts in owners.items():
                family.add_metric([rank], getattr(starts, field))
            yield family


def _most_before_turn(owners: Mapping[str, Starts]) -> dict[str, Starts]:
    """By rank those of owners with the most, and the sum of the others: whoever reads metrics learns no names."""
    found = [starts for _, starts in sorted(owners.items()) if starts.before_turn]
    found.sort(key=lambda starts: -starts.before_turn)
    most = {f"{rank}": starts for rank, starts in enumerate(found[:MAX_OWNERS], 1)}
    return most | ({OTHER_OWNERS: reduce(Starts.plus, found[MAX_OWNERS:])} if found[MAX_OWNERS:] else {})
