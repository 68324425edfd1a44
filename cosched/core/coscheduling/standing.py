"""How others stand, by what their domains say of them."""

from __future__ import annotations

from cosched.core.coscheduling.membership import Membership
from cosched.core.protocol import Domain, MateStatus, Status

STARTED = (Status.RUNNING, Status.ENDED)
WAITS = (Status.HOLDING, Status.QUEUING)
UNSUBMITTED = Status.UNSUBMITTED  # a member that is read from its class takes 0.1 us in Python 3.11
DID_NOT_COMPLETE = (Status.FAILED, Status.CANCELLED)


def has_ended(status: object) -> bool:
    """Return whether a member has ended after it had run. One that has not is lost, and nobody ends with it."""
    if not isinstance(status, MateStatus):
        return False
    return status.status is Status.ENDED or (status.status in DID_NOT_COMPLETE and status.runs > 0)


def outlives_others(group: Membership) -> bool:
    """Return whether a member with which the job ends has ended, as it answered."""
    return any(has_ended(group.told.get(peer)) for peer in group.terms.ends_with)


def others_of(group: Membership) -> tuple[bool, list[Domain], list[Domain], list[Domain]]:
    """Return whether some of the others have begun, who is lacking, who is lost, and who waits, as they answered."""
    begun = bool(group.started_by)
    lacking: list[Domain] = []
    lost: list[Domain] = []
    left: list[Domain] = []
    for peer, told in group.told.items():
        status = told.status if isinstance(told, MateStatus) else UNSUBMITTED
        if status in WAITS:
            left.append(peer)
        elif status is UNSUBMITTED:
            lacking.append(peer)
        elif status in STARTED:
            begun = True
        else:
            lost.append(peer)
    return begun, lacking, lost, left
