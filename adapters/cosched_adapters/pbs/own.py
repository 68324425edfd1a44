"""PBS as the service of one of its users sees it: jobs wait in their gates (own.gates), without a hook of the server.

Users cannot give jobs resources of their own, so the mate that a job names stands in a file of the gates' folder,
ID.words, with the lines NAME=VALUE of what would be its resources. PBS lets only operators queue a running job again,
so jobs cannot yield.
"""

from __future__ import annotations

import getpass
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cosched.core.protocol import Named
from cosched_adapters.batch_job import Phase
from cosched_adapters.batch_system import Known, LoneJob
from cosched_adapters.findings import Finding
from cosched_adapters.manager import ManagerError, MustHoldError, NoRequeueError, SlotsOnRecord
from cosched_adapters.mate_fields import words
from cosched_adapters.own.gate_script import GateWords
from cosched_adapters.own.gates import LEAD, Gates, Said
from cosched_adapters.pbs.batch_job import BatchJob
from cosched_adapters.pbs.calls import Pbs
from cosched_adapters.pbs.commands import JobRow
from cosched_adapters.pbs.queue import PbsQueue
from cosched_adapters.pbs.register import Register
from cosched_adapters.pbs.settings import PbsSettings
from cosched_adapters.permissions import Account

GATE = GateWords(
    r"""J=${PBS_JOBID%%.*} T=$(($(date +%s) - 1700000000)) M="nodes=$(sort -u "$PBS_NODEFILE" | wc -l) nodelist=-"
{ read -r t _ < <(tail -n 1 "$G/$J.told"); [ "${t:-0}" -lt "$T" ] || T=$((t + 1)); } 2> /dev/null"""
)
ONLY_HOLDS = "PBS lets only operators queue a running job again: a job of your own service can only hold"
_LOG = logging.getLogger(__name__)


def write_words(gates: Path, job_id: str, resources: Mapping[str, str]) -> None:
    """Note which mate a job names; OSError."""
    aside = gates / f"{job_id}.words.new"
    aside.write_text("".join(f"{name}={value}\n" for name, value in resources.items() if value))
    aside.rename(gates / f"{job_id}.words")


def _read_words(gates: Path, job_id: str) -> dict[str, str] | None:
    """Return what would be a job's resources; None: it has no gate."""
    try:
        lines = (gates / f"{job_id}.words").read_text().splitlines()
    except OSError:
        return None
    return dict(line.split("=", 1) for line in lines if "=" in line)


@dataclass(frozen=True, slots=True)
class GatedJob:
    """A job that waits in its gate, as PBS shows it."""

    job_id: str
    restarts: int  # its turn
    row: JobRow


class OwnPbs(Pbs):
    """PBS as its user sees it: other users' jobs name no mates here, and a job in its gate does not run yet."""

    def __init__(self, settings: PbsSettings, folder: Path) -> None:
        super().__init__(settings)
        self._user = getpass.getuser()
        self._folder = folder
        self._turns: dict[str, int] = {}  # the least turns of jobs that were queued again
        self.gates: Gates[GatedJob]

    async def queue(self) -> list[JobRow]:
        rows = [self._own(row) for row in await super().queue()]
        seen = {row.job_id for row in rows}
        self._turns = {job: turn for job, turn in self._turns.items() if job in seen}
        return rows

    async def details(self, jobs: Sequence[str]) -> list[JobRow]:
        return [self._own(row) for row in await super().details(jobs)]

    async def history(self) -> list[JobRow]:
        return [self._own(row) for row in await super().history()]

    async def offer_of(self, job_id: str, said: Said) -> GatedJob | None:
        row = next(iter(await super().details([job_id])), None)
        if row is None or row.state != "R" or said.turn < self._turns.get(job_id, 0):
            return None
        if _read_words(self._folder, job_id) is None:
            raise ManagerError("it is not written yet which mate it names")
        return GatedJob(job_id, said.turn, self._own(row))

    async def requeue(self, job_id: str) -> None:
        raise MustHoldError(f"job {job_id} cannot yield: {ONLY_HOLDS}")

    def _own(self, row: JobRow) -> JobRow:
        named = _read_words(self._folder, row.job_id) if row.owner == self._user else None
        return replace(row, resources={}) if named is None else replace(row, resources=named, **self._begun(row))

    def _begun(self, row: JobRow) -> dict[str, Any]:
        """Return what is otherwise of a job whose gate has not become its script: PBS shows it as running."""
        said = self.gates.said(row.job_id, 0)
        if row.state in ("Q", "H", "W") and said is not None:
            self._turns[row.job_id] = said.turn + 1
        turn = self._turns.get(row.job_id, 0)
        if row.state not in ("R", "E", "F"):
            return {}
        said = self.gates.said(row.job_id, turn)
        if said is not None and said.word == "starting":
            return {"started_at": round(self.gates.let_go_at(row.job_id, said.turn) or 0) or row.started_at}
        if row.state == "F":
            return {"started_at": None} if said is not None else {}
        waits = said is not None or self.gates.keep(row.job_id, turn, row.started_at)
        return {"state": "Q", "started_at": None} if waits else {}


class OwnRegister(Register):
    """Jobs that are offered by their gates, and cannot yield."""

    def add(self, job: BatchJob) -> BatchJob:
        """See the class above."""
        job.can_yield = False
        return super().add(job)

    def runs(self, job: BatchJob, at: float | None) -> None:
        """See the class above: a gate has started its job by our word, or has said why not."""
        if job.phase is not Phase.RUNNING:
            self.note_start(job, at)

    def let_go(self, job: BatchJob, at: float | None) -> None:
        """Note that a job's gate was told to start it."""
        self._enter(job, Phase.TOLD_TO_START)
        job.started = time.time() if at is None else at

    def at_gate(self, row: JobRow) -> bool:
        """Offer a job that waits in its gate; False: it names no mate."""
        job = self.jobs.get(row.job_id)
        if job is None:
            job = self.learn(row)
        else:
            self._follow(job, row)
        if job is None or job.named is None:
            return False
        self.note_offer(job, row.vnodes)
        job.started, job.nodes = None, row.nodes
        self._tell_offer(job)
        return True


class OwnPbsManager(PbsQueue):
    """See `adapters.batch_system`. An offered job waits in its gate, until an order comes."""

    mate_field = "file of its mate"
    start_lead = LEAD
    _register: OwnRegister

    def __init__(self, settings: PbsSettings) -> None:
        assert settings.gates is not None
        self._folder = settings.gates
        own = OwnPbs(settings, self._folder)
        super().__init__(settings, own, _LOG)
        self._register = OwnRegister(
            self._reports.put_nowait, self._now, lambda _: None, ask_again=lambda: None, look=self._watch.hint
        )
        self._gates = own.gates = Gates(
            settings, own, on_offer=self._offered, on_withdrawn=self._withdrawn, on_starting=self._starting,
            jobs=self._register.jobs.keys,
        )  # fmt: skip

    async def open(self) -> dict[str, Known]:
        """See the protocol; hears the gates."""
        self._gates.load()
        await self._take_stock()
        await self._serve(self._gates, "the gates")
        self._watch.hint()
        return self._all_known()

    async def start(self, job_id: str, at: float | None = None) -> bool:
        job = self._register.jobs.get(job_id)
        if job is None or job.phase is not Phase.OFFERED or not self._gates.start(job_id, at, job.finding):
            return False
        self._register.let_go(job, at)
        return True

    async def _give_back(self, job: BatchJob, pause: float, offer: int | None) -> bool:  # noqa: ARG002
        if job.phase is not Phase.OFFERED or offer not in (None, job.number):
            return False
        raise MustHoldError(f"job {job.job_id} cannot yield: {ONLY_HOLDS}")

    async def requeue(self, job_id: str) -> None:
        raise NoRequeueError(f"job {self._of(job_id).job_id} runs on: PBS lets only operators queue it again")

    async def hasten(self, job_id: str) -> None:
        self._of(job_id)  # PBS's scheduler begins a cycle by itself, and users cannot ask for one

    async def adopt(self, job_id: str, named: Named, may: Callable[[LoneJob], bool]) -> bool:  # noqa: ARG002
        """See the protocol: a job without a mate has no gate."""
        return False

    async def _name(self, job: BatchJob, named: Named | None) -> None:
        resources = words(named)
        try:
            write_words(self._folder, job.job_id, resources)
        except OSError as error:
            raise ManagerError(f"{self._folder} cannot be used: {error.strerror}") from error
        self._register.name(job, named)

    async def examine(self, service: Account, *, serving: bool, slots: SlotsOnRecord = dict) -> list[Finding]:  # noqa: ARG002
        from cosched_adapters.pbs.doctor import examine_own  # a service does not need it

        return await examine_own(self.settings)

    async def close(self) -> None:
        """Stop watching. Jobs keep waiting in their gates as long as these are patient."""
        await self._stop(self._gates)
        await self._pbs.close()

    # What gates say

    def _offered(self, offer: GatedJob) -> None:
        if not self._register.at_gate(offer.row):
            self._gates.start(offer.job_id)

    def _withdrawn(self, job_id: str) -> None:
        job = self._register.jobs.get(job_id)
        if job is not None and job.phase is Phase.OFFERED:
            self._register.withdraw(job)
        self._watch.hint()

    def _starting(self, job_id: str, turn: int) -> None:
        job = self._register.jobs.get(job_id)
        if job is not None and job.phase is not Phase.ENDED:
            self._register.runs(job, self._gates.let_go_at(job_id, turn) or time.time())
        self._watch.hint()

    async def _look(self) -> None:
        await super()._look()
        self._gates.keep_finding(self._register.jobs)
