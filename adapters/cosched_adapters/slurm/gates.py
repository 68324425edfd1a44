"""Slurm as the service of one of its users sees it: jobs wait in their gates (own.gates)."""

from __future__ import annotations

import getpass
import logging
import math
import os
import signal
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

from cosched_adapters.manager import ManagerError
from cosched_adapters.own.gate_script import GateWords
from cosched_adapters.own.gates import Gates, Said
from cosched_adapters.programs import until_it_answers
from cosched_adapters.slurm.calls import Slurm
from cosched_adapters.slurm.commands import JobRow
from cosched_adapters.slurm.comments import CommentError, find
from cosched_adapters.slurm.hook_protocol import Offer
from cosched_adapters.slurm.settings import SlurmSettings

WORDS = GateWords(
    'J=$SLURM_JOB_ID T=${SLURM_RESTART_COUNT:-0} M="nodes=$SLURM_JOB_NUM_NODES nodelist=$SLURM_JOB_NODELIST"',
    requeue='scontrol requeue "$J"',
    trim='scontrol update "jobid=$J" "timelimit=-$R"',
)
_SILENT = 5  # seconds within which a gate has said something
_MOST_SILENT = 3  # turns in which it is queued again all the same
_LOG = logging.getLogger(__name__)


class OwnSlurm(Slurm):
    """Slurm as its user sees it: other users' jobs name no mates here, and a job in its gate does not run yet."""

    def __init__(self, settings: SlurmSettings) -> None:
        super().__init__(settings)
        self._user = getpass.getuser()
        self.gates: SlurmGates

    async def queue(self) -> list[JobRow]:
        return [self._own(row) for row in await super().queue()]

    async def details(self, job_ids: Sequence[str]) -> list[JobRow]:
        return [self._own(row) for row in await super().details(job_ids)]

    async def offer_of(self, job_id: str, said: Said) -> Offer | None:
        row = next(iter(await self.details([job_id])), None)
        if row is None or row.restarts != said.turn or row.state != "CONFIGURING":
            return None
        return Offer(
            job_id, said.nodes, said.nodelist, row.user, os.geteuid(), row.comment or "", row.name, said.turn,
            batch=True, array=None, het=row.het,
        )  # fmt: skip

    def _own(self, row: JobRow) -> JobRow:
        if row.user != self._user:
            return row if row.comment is None else replace(row, comment="", others=())
        if row.state == "RUNNING" and self.gates.keep(row.job_id, row.restarts, row.started_at):
            return replace(row, state="CONFIGURING")
        return replace(row, state="COMPLETING") if row.state == "FAILED" and self.gates.save(row) else row


class SlurmGates(Gates[Offer]):
    """Gates whose jobs Slurm queues again if they are killed."""

    def __init__(
        self, settings: SlurmSettings, slurm: OwnSlurm, *, jobs: Callable[[], Collection[str]], **on: Any
    ) -> None:
        super().__init__(settings, slurm, jobs=jobs, **on)
        self._saved: dict[str, int] = {}  # jobs that are queued again since their gates were killed, and in which turn
        self._lost: set[str] = set()  # jobs that Slurm does not queue again

    def save(self, row: JobRow) -> bool:
        """Have Slurm queue a job again whose gate was killed before its script began, as on nodes that others clean up.

        False: that was not so, or Slurm refuses.
        """
        job = row.job_id
        if self._saved.get(job) == row.restarts:
            return True
        if row.signal != signal.SIGKILL or not row.can_yield or job in self._lost:
            return False
        said = self.read(job)
        if not (self._was_silent(row) if said is None or said.turn < row.restarts else self._was_waiting(row, said)):
            return False
        _LOG.warning("job %s is queued again: its gate was killed", job)
        self._saved[job] = row.restarts
        self._tasks.begin(self._save(job))
        return True

    def _was_silent(self, row: JobRow) -> bool:
        """Return whether a job had a gate that was killed before it could say a word."""
        try:
            named = row.job_id in self._jobs() or find(row.comment or "") is not None
        except CommentError:
            named = False
        ran = (row.ended_at or 0) - (row.started_at or 0)
        return named and row.restarts < _MOST_SILENT and ran <= _SILENT

    def _was_waiting(self, row: JobRow, said: Said) -> bool:
        """Whether a job had a gate that was killed while it waited for its answer, or then for its instant.

        What it has said is not enough for the second: it may not have been able to say that its script begins.
        """
        if said.turn != row.restarts or said.begun or said.word == "gone":
            return False
        at = self.let_go_at(row.job_id, said.turn)
        return said.word == "ready" if at is None else at > 0 and (row.ended_at or math.inf) <= at + _SILENT

    async def _save(self, job: str) -> None:
        try:
            await until_it_answers(lambda: self._system.requeue(job))
        except ManagerError as error:
            _LOG.error("job %s cannot be queued again: %s", job, error)
            self._lost.add(job)  # the next look shows that it has failed
            del self._saved[job]
