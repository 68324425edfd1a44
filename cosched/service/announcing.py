"""A link announced: the mate's domain is asked at once, learns of it so, and what it says is kept."""

from __future__ import annotations

import logging

from cosched.core.protocol import GetMateJobId, JobId, MateJobId
from cosched.service.domain import LiveDomain
from cosched.service.peers import CallError, Peers

_LOG = logging.getLogger(__name__)


async def announce(domain: LiveDomain, peers: Peers, job: JobId) -> None:
    """Ask for the mate that a job names; if no answer comes, the job asks again when it is ready."""
    record = domain.jobs.get(job)
    if record is None or record.peer is None:
        return
    question = GetMateJobId(job, record.pair, record.mate, record.owner)
    try:
        answer = await peers.call(record.peer, question)
    except CallError as error:
        _LOG.info("job %s: its mate's domain gives no answer: %s", job, error.problem)
        return
    if isinstance(answer, MateJobId) and job in domain.jobs:
        domain.hear(record.peer, question, answer)
