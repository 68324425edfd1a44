"""The proposal of a job to start its group now."""

from __future__ import annotations

from collections.abc import Iterable

from cosched.core.coscheduling.ledger import Ledger, PairedJob, membership
from cosched.core.coscheduling.membership import Proposal
from cosched.core.effects import Call, Effect
from cosched.core.protocol import FOREVER, Domain, ProposeGroupStart
from cosched.core.story import What


def propose(ledger: Ledger, job: PairedJob, peers: Iterable[Domain], now: int, slot: str = "") -> list[Effect]:
    """Ask these members for their nodes; of a `slot` that has come."""
    group = membership(job)
    until = job.held_until if job.will_hold else 0
    id, patience = ledger.request_id(job), lease(ledger)
    requests = {peer: ProposeGroupStart(id, group.jobs[peer], job.id, until, patience, slot=slot) for peer in peers}
    group.proposal = Proposal(now, requests)
    job.untold = {peer: told for peer, told in job.untold.items() if peer not in requests}
    noted = ledger.note(job, What.PROPOSES_TO_GROUP, group=group.name, proposal=id)
    return noted + [Call(peer, job.id, request) for peer, request in requests.items()]


def lease(ledger: Ledger) -> int:
    """After how many seconds a member asks for the outcome: the proposer is patient for a shorter time."""
    return 2 * ledger.settings.long_pause


def longest_lease(ledger: Ledger) -> int:
    """For how many seconds nodes are kept here for proposals, whatever lease these name, before others have a turn."""
    return min(lease(ledger), ledger.settings.release_interval or FOREVER)
