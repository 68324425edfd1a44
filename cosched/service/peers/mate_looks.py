"""Asks how mates stand while somebody looks at their jobs: each at most once in 30 s, and at once when it has changed.

Nobody is asked for a job at which nobody looks. Who looks waits for the answers a moment, then sees what was known.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable

from cosched.core.coscheduling.allocations import RUNNING
from cosched.core.protocol import Domain, GetMateStatus, JobId, MateStatus, TellMember
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.domain.mate_states import FRESH
from cosched.service.peers.peers import CallError, PeerClients
from cosched.service.store import JobRecord
from cosched.service.tasks import Tasks

SOON = 1.0  # seconds, instead of FRESH, for which the state of a mate whose job has just ended is new enough
PATIENCE = 1.0  # seconds for which who looks waits for answers
LOOKS_ON = 300.0  # seconds for which somebody who has looked is expected to look again
MOST_ASKED = 1000  # mates by one look
_LOG = logging.getLogger(__name__)


class MateLooks:
    """The questions of one domain. Belongs to one asyncio loop."""

    def __init__(self, domain: LiveDomain, peers: PeerClients, tasks: Tasks) -> None:
        self._domain = domain
        self._peers = peers
        self._tasks = tasks
        self._states = domain.calls.states
        self._open: dict[tuple[JobId, Domain], asyncio.Task[None]] = {}
        self._looked_at = float("-inf")  # when somebody has looked last, by the monotonic clock
        domain.questions.hears = self._changed

    async def look(self, records: Iterable[JobRecord], *, wait: bool = True) -> None:
        """Somebody looks at these jobs: ask for what may have changed, and `wait` a moment for the answers."""
        self._looked_at = time.monotonic()
        self._states.drop_all_but(self._domain.jobs)
        awaited: list[asyncio.Task[None]] = []
        for record in records:
            for peer, mate in record.mates.items() if record.paired else ():
                if mate is not None and len(awaited) < MOST_ASKED and (asked := self._ask(record, peer, mate)):
                    awaited.append(asked)
        if awaited and wait:
            await asyncio.wait(awaited, timeout=PATIENCE)

    def _ask(self, record: JobRecord, peer: Domain, mate: JobId) -> asyncio.Task[None] | None:
        """Return the question that is open about this mate, or is to be asked; None: its state is new enough."""
        key, ended = (str(record.id), peer), record.ended_at
        just_ended = ended is not None and self._domain.clock.now() < ended + FRESH  # its mate soon may have, too
        if self._states.may_be_old(*key, mate, SOON if just_ended else FRESH) and key not in self._open:
            self._states.asks(*key)
            task = self._open[key] = self._tasks.run(self._asked(record, peer, mate))
            task.add_done_callback(lambda _: self._open.pop(key))
        return self._open.get(key)

    async def _asked(self, record: JobRecord, peer: Domain, mate: JobId) -> None:
        """Ask once; again if the mate has changed meanwhile. What became known meanwhile is newer than the answer."""
        key = str(record.id), peer
        while True:
            since = time.monotonic()
            try:
                answer = await self._peers.call(peer, GetMateStatus(mate, str(record.id)))
            except CallError as error:  # its last state is shown with its age
                _LOG.info("%s:%s: its state is not known: %s", peer, mate, error.problem)
                return
            assert isinstance(answer, MateStatus)
            if not self._states.said_since(*key, since):
                self._domain.calls.told_state(record, peer, mate, answer)
            if self._states.changed(*key) <= since:
                return

    def _changed(self, peer: Domain, news: TellMember) -> None:
        """A mate has changed. Jobs that wait ask by themselves; of one that runs it matters to who looks at it."""
        record = self._domain.jobs.get(news.job)
        if record is None or record.mates.get(peer) != news.caller:
            return
        self._states.outdate(news.job, peer)
        if record.state is RUNNING and time.monotonic() < self._looked_at + LOOKS_ON:
            self._ask(record, peer, news.caller)
