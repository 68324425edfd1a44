"""What a site configures for one policy domain. Others read it from files and flags."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

MAX_INTERVAL = 366 * 86400
NO_SLOT_BOUND = 1  # a slot_share that bounds nothing


class Scheme(StrEnum):
    """What a ready job does whose mate is not ready (Tang et al., IV-B); OFF disables coscheduling."""

    HOLD = "hold"
    YIELD = "yield"
    OFF = "off"


class ReleaseOrder(StrEnum):
    """The order after a forced release: wanted jobs first (our rule), or just the released job last (the paper's)."""

    WANTED = "wanted"
    LAST = "last"


class OnUnreachable(StrEnum):
    """What a ready job does if its mate's domain cannot be reached; in the paper it starts."""

    START = "start"
    HOLD = "hold"
    YIELD = "yield"


class OnMateUnknown(StrEnum):
    """What a ready job does if there is no such mate as it names; in the paper it starts."""

    START = "start"
    WAIT = "wait"


class OnMemberLost(StrEnum):
    """What a ready job does if another member of its group has been cancelled or has failed (coscheduling.md)."""

    START = "start"
    WAIT = "wait"
    CANCEL = "cancel"


class OnMemberRequeued(StrEnum):
    """What a running job does if another member has lost its nodes and is queued again."""

    CONTINUE = "continue"  # it runs on
    REQUEUE = "requeue"  # it is queued again, too, and starts together with the others
    END = "end"  # it is cancelled


@dataclass(frozen=True, slots=True)
class CoschedulingSettings:
    """The flag and the scheme of Algorithm 1, and the enhancements of section IV-E, in seconds and fractions.

    Raises ValueError, `KEY: reason`, for a value out of range.
    """

    scheme: Scheme = Scheme.HOLD
    release_interval: int = 1200  # 0: holds are never released
    release_jitter: Decimal = Decimal("0.25")
    release_order: ReleaseOrder = ReleaseOrder.WANTED
    max_held_fraction: Decimal = Decimal("0.5")
    max_yields: int = 0  # 0: no limit
    yield_boost: Decimal = Decimal(0)
    on_peer_unreachable: OnUnreachable = OnUnreachable.START
    on_mate_unknown: OnMateUnknown = OnMateUnknown.START
    on_member_lost: OnMemberLost = OnMemberLost.START
    mate_patience: int | None = None  # how long to wait for an unsubmitted or unknown mate; None: without end
    peer_grace: int = 0  # how long a peer that was there may be away before it counts as unreachable; not in the paper
    peer_patience: int = 30
    retry_interval: int = 1
    hold_check: int = 0  # how often a job that holds asks whether its mates still wait; 0: never
    successor_patience: int = 0  # how long to wait for another job in the place of one that its owner has cancelled
    successor_hold: int = 0  # how much of that time with nodes
    on_member_requeued: OnMemberRequeued = OnMemberRequeued.CONTINUE
    max_requeues: int = 3  # of a pair or group, by on_member_requeued
    slots: bool = False  # jobs of pairs are given slots, and never hold by scheme (meet.md)
    slot_share: Decimal = Decimal(NO_SLOT_BOUND)  # of the node-time that an owner's slots with a peer may keep

    def __post_init__(self) -> None:
        _check("release_interval", self.release_interval, 0, MAX_INTERVAL)
        _check("release_jitter", self.release_jitter, 0, 1)
        _check("max_held_fraction", self.max_held_fraction, 0, 1)
        _check("max_yields", self.max_yields, 0, 10**9)
        _check("yield_boost", self.yield_boost, 0, 10**6)
        _check("peer_grace", self.peer_grace, 0, MAX_INTERVAL)
        _check("peer_patience", self.peer_patience, 0, MAX_INTERVAL)
        _check("hold_check", self.hold_check, 0, MAX_INTERVAL)
        _check("successor_patience", self.successor_patience, 0, MAX_INTERVAL)
        _check("successor_hold", self.successor_hold, 0, MAX_INTERVAL)
        _check("max_requeues", self.max_requeues, 0, 10**9)
        _check("slot_share", self.slot_share, 0, NO_SLOT_BOUND)
        _check("retry_interval", self.retry_interval, 1, MAX_INTERVAL)
        if self.mate_patience is not None:
            _check("mate_patience", self.mate_patience, 0, MAX_INTERVAL)

    @property
    def long_pause(self) -> int:
        """Seconds to wait where the next retry would be too soon: `peer_patience`, but one retry at least."""
        return max(self.peer_patience, self.retry_interval)

    @property
    def enabled(self) -> bool:
        """Whether this domain coschedules at all (`cosched_enabled` in Algorithm 1)."""
        return self.scheme is not Scheme.OFF


def _check(key: str, value: Decimal | int, low: int, high: int) -> None:
    if not Decimal(value).is_finite() or not low <= value <= high:
        raise ValueError(f"{key}: {value} is not between {low} and {high}")
