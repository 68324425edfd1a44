"""The batch scheduler (scheduling.md): every job has what it asks for, from its start to its end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

from pydantic import Field

from cosched.core.scheduling.capabilities import Capabilities
from cosched.core.scheduling.policies.backfilling import BACKFILLING
from cosched.core.scheduling.pools import Partitions, parse_node_pool
from cosched.core.scheduling.scheduler import ClusterJob, ClusterSettings, OpenScheduler
from cosched.core.settings import ReleaseOrder
from cosched.schedulers.kind import Ended, SchedulerKind
from cosched.schedulers.waits import Waits
from cosched.validation.mistakes import KeyedError
from cosched.validation.policies import ordering_of
from cosched.validation.sections import CoschedulingFields
from cosched.validation.types import Backfill, NodePool, Policy, Settings


class BatchKeys(Settings):
    """How the queue is ordered and the nodes are filled."""

    policy: Annotated[
        Policy,
        Field(description="wfp, fcfs, shortest-first, largest-first, or such as min(wait/requested,9)*nodes (wfp)"),
    ] = "wfp"
    backfill: Annotated[Backfill, Field(description="easy, conservative, none (easy)")] = "easy"
    node_pool: Annotated[NodePool, Field(description="flat, partitioned:intrepid, partitioned:UNITSxNODES (flat)")] = (
        "flat"
    )

    @property
    def partitions(self) -> Partitions | None:
        """The partitions of a partitioned node pool; None for a flat one."""
        return parse_node_pool(self.node_pool)


class BatchKind(SchedulerKind):
    """See SchedulerKind."""

    name = "batch"
    purpose = "every job has what it asks for"
    keys = BatchKeys
    capabilities = Capabilities(slots=True, estimates=True, what_if=True)

    def settings(self, keys: BatchKeys, nodes: int, coscheduling: CoschedulingFields) -> ClusterSettings:
        partitions, meeting = keys.partitions, coscheduling.meeting
        if partitions and partitions.nodes != nodes:
            raise KeyedError(("node_pool",), f"{keys.node_pool} has {partitions.nodes} nodes, not {nodes}")
        return ClusterSettings(
            nodes=nodes,
            ordering=ordering_of(keys.policy),
            backfilling=BACKFILLING[keys.backfill],
            partitions=partitions,
            wanted_first=coscheduling.release_order is ReleaseOrder.WANTED,
            mate_budget=meeting.mate_budget,
            slots=meeting.slots,
            mate_budget_share=meeting.mate_budget_share,
        )

    def open(self, settings: ClusterSettings) -> OpenScheduler:
        from cosched.core.scheduling.batch.open_cluster import OpenCluster

        return OpenCluster(settings)

    def why(self, scheduler: OpenScheduler, job: ClusterJob, ahead: int, word: str) -> Waits:
        told = super().why(scheduler, job, ahead, word)
        ordered = told.what == "others_first"
        return told._replace(change=f"{told.change}; the order is `policy` of [manager]") if ordered else told

    def kernels(self) -> Mapping[str, Callable[[], None]]:
        from cosched.core.scheduling.batch import warming

        return {"batch": warming.use_kernels, "meeting": warming.use_kernels_of_meeting}

    def needed(self, settings: ClusterSettings, *, alone: bool = False) -> list[str]:  # noqa: ARG002
        return ["meeting" if settings.meets else "batch"]

    def facts(self, keys: BatchKeys, counts: Mapping[str, Any], ended: Ended) -> dict[str, Any]:  # noqa: ARG002
        return {key: getattr(keys, key) for key in BatchKeys.model_fields}

    def words(self, facts: Mapping[str, Any]) -> list[str]:
        backfilling = {"none": "no backfilling"}.get(facts["backfill"], f"{facts['backfill']} backfilling")
        pool = [facts["node_pool"]] if facts["node_pool"] != "flat" else []
        return [f"policy {facts['policy']}", backfilling, *pool]


BATCH = BatchKind()
