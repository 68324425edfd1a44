"""What is known of a peer, for people and for other parts of the service."""

from __future__ import annotations

from dataclasses import dataclass

from cosched.core.protocol import Domain


@dataclass(frozen=True, slots=True)
class PeerView:
    """What is known of a peer. Times are in seconds, `since` by the wall clock."""

    name: Domain
    address: str
    state: int  # wire enum PeerState
    since: float
    round_trip: float | None  # duration of the last call with an answer
    problem: str  # for people; empty if there is none
    clock_offset: float | None = None  # how far its clock is ahead of ours; None: unknown
    clock_uncertainty: float | None = None  # how wrong the offset may be, plus or minus
    takes_groups: bool | None = None  # whether it takes members of groups; None: unknown
