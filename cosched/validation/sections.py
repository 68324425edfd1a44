"""The settings common to all policy domains, simulated or live, and their conversion to settings of the core."""

from __future__ import annotations

from decimal import Decimal
from typing import Literal, Self

from pydantic import model_validator

from cosched.core.scheduling.policies.backfilling import BACKFILLING
from cosched.core.scheduling.policies.ordering import parse_ordering
from cosched.core.scheduling.pools import Partitions, parse_node_pool
from cosched.core.scheduling.scheduler import ClusterSettings
from cosched.core.settings import CoschedulingSettings, OnUnreachable, ReleaseOrder, Scheme
from cosched.validation.types import NodePool, Number, Policy, Seconds, Settings, Whole


class SchedulerFields(Settings):
    """How the embedded scheduler orders its queue and fills its nodes."""

    policy: Policy = "wfp"
    backfill: Literal["easy", "conservative", "none"] = "easy"
    node_pool: NodePool = "flat"

    @property
    def partitions(self) -> Partitions | None:
        """The partitions of a partitioned node pool; None for a flat one."""
        return parse_node_pool(self.node_pool)

    def scheduler_settings(self, nodes: int, release_order: ReleaseOrder) -> ClusterSettings:
        """Return these settings for the embedded scheduler of a machine of `nodes` nodes."""
        return ClusterSettings(
            nodes=nodes,
            ordering=parse_ordering(self.policy),
            backfilling=BACKFILLING[self.backfill],
            partitions=self.partitions,
            wanted_first=release_order is ReleaseOrder.WANTED,
        )


class CoschedulingFields(Settings):
    """Algorithm 1's scheme and its enhancements (coscheduling.md); durations are seconds or text such as '20m'."""

    scheme: Scheme = Scheme.HOLD
    release_interval: Seconds = 1200
    release_jitter: Number = Decimal("0.25")
    release_order: ReleaseOrder = ReleaseOrder.WANTED
    max_held_fraction: Number = Decimal("0.5")
    max_yields: Whole = 0
    yield_boost: Number = Decimal(0)
    on_peer_unreachable: OnUnreachable = OnUnreachable.START
    peer_grace: Seconds = 0
    mate_patience: Seconds | None = None

    @model_validator(mode="after")
    def _within_range(self) -> Self:
        self.coscheduling_settings()
        return self

    def coscheduling_settings(self) -> CoschedulingSettings:
        """Return these settings for the core; ValueError, `KEY: reason`, for a value out of range."""
        names = CoschedulingSettings.__dataclass_fields__.keys() & type(self).model_fields.keys()
        return CoschedulingSettings(**{name: getattr(self, name) for name in names})
