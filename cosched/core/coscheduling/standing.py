"""How others stand, by what their domains say of them."""

from __future__ import annotations

from typing import NamedTuple

from cosched.core.coscheduling.membership import Membership
from cosched.core.protocol import Domain, MateStatus, Status

STARTED = (Status.RUNNING, Status.ENDED)
WAITS = (Status.HOLDING, Status.QUEUING)
DID_NOT_COMPLETE = (Status.FAILED, Status.CANCELLED)


def has_ended(status: object) -> bool:
    """Return whether a member has ended after it had run. One that has not is lost, and nobody ends with it."""
    if not isinstance(status, MateStatus):
        return False
    return status.status is Status.ENDED or (status.status in DID_NOT_COMPLETE and status.runs > 0)


class Others(NamedTuple):
    """How the others stand: whether some have begun, who is lacking, who is lost, and who waits."""

    begun: bool
    lacking: list[Domain]
    lost: list[Domain]
    left: list[Domain]


def others_of(group: Membership) -> Others:
    """Return how the others stand, by the answers of this RunJob."""
    begun, lacking, lost, left = group.has_begun, list[Domain](), list[Domain](), list[Domain]()
    for peer, told in group.told.items():
        if not isinstance(told, MateStatus) or told.status is Status.UNSUBMITTED:
            lacking.append(peer)
        elif told.status in WAITS:
            left.append(peer)
        elif told.status in STARTED:
            begun = True
        else:
            lost.append(peer)
    return Others(begun, lacking, lost, left)
