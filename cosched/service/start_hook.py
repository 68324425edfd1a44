"""The site's command that runs when a job of a pair or group starts together with the others."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import UTC, datetime

from cosched.service.domain.live_domain import LiveDomain
from cosched.service.domain.story import tells_of_common_start
from cosched.service.domain.watching import Watchers
from cosched.service.manager.launches import known_mates
from cosched.service.store import EventRecord, JobRecord
from cosched_adapters.manager import ManagerError
from cosched_adapters.programs import Programs

_LOG = logging.getLogger(__name__)


class StartHook:
    """Runs the command once for each such start, one after the other."""

    def __init__(self, domain: LiveDomain, watchers: Watchers, command: Sequence[str], timeout: int) -> None:
        """`timeout`: seconds that one run may take."""
        self._domain = domain
        self._watchers = watchers
        self._command = command
        self._timeout = timeout

    async def run(self) -> None:
        """Run the command for what happens from now on, without end. What has started while it is too slow is lost."""
        while True:
            with self._watchers.watch() as watcher:
                while not watcher.behind:
                    await self._hear(await watcher.queue.get())
            _LOG.warning("on_pair_start is too slow: it has not run for some starts")

    async def _hear(self, event: EventRecord) -> None:
        record = self._domain.record(str(event.job)) if tells_of_common_start(event.what, event.detail) else None
        if record is None:
            return
        programs = Programs("on_pair_start", None, self._timeout, self._variables(record, event))
        try:
            await programs.run(self._command, _failure)
        except ManagerError as error:
            _LOG.warning("on_pair_start, job %s: %s", event.job, error)

    def _variables(self, record: JobRecord, event: EventRecord) -> dict[str, str]:
        return {
            "COSCHED_EVENT": str(event.sequence),
            "COSCHED_DOMAIN": self._domain.name,
            "COSCHED_JOB_ID": str(record.id),
            "COSCHED_OWNER": record.owner,
            "COSCHED_PAIR": record.group_name or "",
            "COSCHED_MATES": known_mates(record),
            "COSCHED_NODES": str(record.node_count),
            "COSCHED_STARTED_AT": datetime.fromtimestamp(self._domain.clock.to_wall(event.at), UTC).isoformat(),
        }


def _failure(command: str, code: int, said: bytes) -> ManagerError:
    lines = said.decode(errors="replace").strip().splitlines()
    return ManagerError(f"{command} has failed ({code}){f': {lines[0][:200]}' if lines else ''}")
