"""What domains answer most."""

from cosched.core import protocol
from cosched.core.protocol import Found, GroupProposed, MateJobId, MateStatus, Outcome, ProposalOutcome, Status, Vote

UNSUBMITTED = MateJobId(Found.UNSUBMITTED, None)
NO_GROUPS = MateJobId(Found.NO_PAIR, None, protocol.MateProblem.NO_GROUPS)
QUEUING = MateStatus(Status.QUEUING, 0, None)
NO, BOOKED, BUSY = (GroupProposed(vote) for vote in (Vote.NO, Vote.BOOKED, Vote.BUSY))
SETTLED = protocol.Settled(True)
DROPPED, STARTED, UNKNOWN = (ProposalOutcome(one) for one in (Outcome.DROPPED, Outcome.STARTED, Outcome.UNKNOWN))


def mate_is(job: str) -> MateJobId:
    return MateJobId(Found.MATE, job)
