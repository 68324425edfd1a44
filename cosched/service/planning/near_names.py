"""Names that come near: a job waits for a mate that nobody has submitted, and its owner's job on the other domain waits
by almost the same name.
"""

from __future__ import annotations

from typing import NamedTuple

from cosched.core.job import WAITING
from cosched.core.protocol import Domain, MateProblem, named_group, named_mate
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.store import JobRecord
from cosched.validation.near_names import nearest
from cosched.validation.pair_names import is_pair_name
from cosched.words.wrong_mates import ANY_OF, wrong_mate

MOST_NAMES = 1000  # of one owner, waiting for the same domain, that are compared


class Sought(NamedTuple):
    """By which name of a pair or group an owner's job waits."""

    owner: str
    name: str
    of_group: bool


def sought_by(record: JobRecord) -> Sought | None:
    """Return by which name a job waits; None: it does not."""
    if record.group_name is None or record.state not in WAITING:
        return None
    return Sought(record.owner, record.group_name, not record.is_pair)


def name_near(domain: LiveDomain, peer: Domain, sought: Sought) -> str:
    """Return by which name a job of the same owner waits here for one of the peer, if that comes near; else empty."""
    owner = domain.core.names.owner_here(peer, sought.owner)
    jobs = [job for job in domain.jobs.values() if job.owner == owner and job.mates.get(peer, "") is None]
    names = {seeks.name for job in jobs if (seeks := sought_by(job)) and seeks.of_group == sought.of_group}
    return "" if sought.name in names or len(names) > MOST_NAMES else nearest(sought.name, names)


def unclear(domain: LiveDomain, peer: Domain, sought: Sought) -> str:
    """Return which job of the same owner waits here by this name, and does not say for which domain; else empty."""
    owner = domain.core.names.owner_here(peer, sought.owner)
    for job, record in domain.jobs.items():
        meant = record.named.peer if record.owner == owner and record.named is not None else ""
        if ANY_OF in meant and peer in meant.split(ANY_OF) and sought_by(record) == sought._replace(owner=owner):
            said = wrong_mate(meant, None, sought.name, MateProblem.NO_DOMAIN)
            return f"job {job} on {domain.name} has no mate: {said}"
    return ""


def may_be_meant(domain: LiveDomain, peer: Domain, sought: Sought, near: str) -> bool:
    """Return whether a peer's answer is a name by which no other job of this owner waits here."""
    named = named_group(near, ()) if sought.of_group else named_mate(peer, near)
    return is_pair_name(near) and domain.core.names.taken(named, sought.owner) is None
