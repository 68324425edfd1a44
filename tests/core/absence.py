"""A domain whose peer B has been there, or is away (coscheduling.md, Absence)."""

from cosched.core.events import PeerThere
from cosched.core.protocol import Failure, GetMateJobId
from cosched.core.settings import Scheme

from .driver import DomainA

GRACE = 120
GONE, LATE, BUSY, SLOW = Failure.UNREACHABLE, Failure.TIMEOUT, Failure.BUSY, Failure.SLOW


def known(**settings: object) -> DomainA:
    """Domain A, whose peer B has been there."""
    a = DomainA(**{"peer_grace": GRACE, **settings})
    a.feed(PeerThere("B"))
    return a


def asking(kind: type, **settings: object) -> DomainA:
    """The same, and job j awaits the answer to a call of this kind."""
    return known(**settings).asks(kind)


def waiting(scheme: Scheme = Scheme.HOLD, **settings: object) -> DomainA:
    """The same; B gave no answer at 10 s, and job j holds or has yielded since."""
    a = asking(GetMateJobId, scheme=scheme, **settings)
    a.now = 10
    a.fail(GONE)
    return a
