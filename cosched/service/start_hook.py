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


async def run_hook(domain: LiveDomain, watchers: Watchers, command: Sequence[str], timeout: int) -> None:
    """Run the command for each such start from now on, one after the other, each for at most `timeout` seconds.

    It runs without end. What has started while it is too slow is lost.
    """
    while True:
        with watchers.watch() as watcher:
            while not watcher.behind:
                event = await watcher.queue.get()
                record = domain.record(str(event.job)) if tells_of_common_start(event.what, event.detail) else None
                if record is not None:
                    await _run(command, timeout, _variables(domain, record, event))
        _LOG.warning("on_pair_start is too slow: it has not run for some starts")


async def _run(command: Sequence[str], timeout: int, variables: dict[str, str]) -> None:
    try:
        await Programs("on_pair_start", None, timeout, variables).run(command, _failure)
    except ManagerError as error:
        _LOG.warning("on_pair_start, job %s: %s", variables["COSCHED_JOB_ID"], error)


def _variables(domain: LiveDomain, record: JobRecord, event: EventRecord) -> dict[str, str]:
    return {
        "COSCHED_EVENT": str(event.sequence),
        "COSCHED_DOMAIN": domain.name,
        "COSCHED_JOB_ID": str(record.id),
        "COSCHED_OWNER": record.owner,
        "COSCHED_PAIR": record.group_name or "",
        "COSCHED_MATES": known_mates(record),
        "COSCHED_NODES": str(record.node_count),
        "COSCHED_STARTED_AT": datetime.fromtimestamp(domain.clock.to_wall(event.at), UTC).isoformat(),
    }


def _failure(command: str, code: int, said: bytes) -> ManagerError:
    lines = said.decode(errors="replace").strip().splitlines()
    return ManagerError(f"{command} has failed ({code}){f': {lines[0][:200]}' if lines else ''}")
