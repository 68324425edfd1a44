"""The Slurm manager handles jobs that name a mate: Slurm's hooks offer them, and squeue shows them."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from cosched.core.protocol import Named
from cosched_adapters import batch_system
from cosched_adapters.batch_job import Phase
from cosched_adapters.findings import Finding
from cosched_adapters.manager import ManagerError, SlotsOnRecord
from cosched_adapters.own.gates import LEAD
from cosched_adapters.permissions import Account
from cosched_adapters.programs import until_it_answers
from cosched_adapters.slices import Slices
from cosched_adapters.slurm import commands, comments
from cosched_adapters.slurm.arrays import TOO_MANY
from cosched_adapters.slurm.batch_job import BatchJob, can_name, lone
from cosched_adapters.slurm.calls import Slurm
from cosched_adapters.slurm.commands import JobRow
from cosched_adapters.slurm.controllers import is_here
from cosched_adapters.slurm.gate_folder import GateFolder
from cosched_adapters.slurm.gates import OwnSlurm, SlurmGates
from cosched_adapters.slurm.hook_protocol import HookEnd, Offer
from cosched_adapters.slurm.hook_server import HookServer
from cosched_adapters.slurm.parameters import texts
from cosched_adapters.slurm.register import Register
from cosched_adapters.slurm.sequences import OTHERS_TURN, Sequences
from cosched_adapters.slurm.settings import SlurmSettings, read_settings
from cosched_adapters.slurm.slots import Slots
from cosched_adapters.slurm.submitting import submit
from cosched_adapters.slurm.versions import requeue_delay
from cosched_adapters.slurm.waiting_folder import WaitingFolder
from cosched_adapters.watch import PACE
from cosched_adapters.watched import WatchedQueue

_HOOK_LEAD = 0.05  # seconds for an answer to reach a hook
_OF_LEAD = 1 / 3  # the part of the gate's lead that writing its file may take
_AFTER_A_RUN = 10  # seconds that Slurm needs before a requeued job that may have run starts again
_LOG = logging.getLogger(__name__)


class SlurmManager(WatchedQueue[BatchJob], batch_system.MeetingSystem):
    """See `adapters.batch_system`.

    Reports say that a job is known (Appeared) and that it is offered (Offered). `start`, `give_back` or `release`
    answers an offer; until then the job holds.
    """

    system = "Slurm"
    mate_field = "comment"
    _register: Register

    def __init__(self, settings: SlurmSettings) -> None:
        super().__init__(settings, _LOG, logging.DEBUG)
        self.settings = settings
        self._slurm = Slurm(settings) if settings.gates is None else OwnSlurm(settings)
        self._waiting = WaitingFolder(settings.waiting_folder)
        self._register = Register(self._reports.put_nowait, self._now, self._waiting.waits)
        self._learning = asyncio.Lock()
        self._learner: asyncio.Task[None] | None = None
        self._gates: GateFolder | None = None
        self._hosts: list[str] | None = None  # those of slurmctld
        if settings.gate_folder is not None:
            self._gates = GateFolder(settings.gate_folder, settings.gate_lead * _OF_LEAD)
        self._hooks: HookServer | SlurmGates
        self._sequences: Sequences
        self._slots: Slots

    @property
    def start_lead(self) -> float:
        return LEAD if self.settings.gates is not None else self.settings.gate_lead + _HOOK_LEAD

    async def elsewhere(self) -> str:
        """See the protocol: slurmctld's hooks find a service on its own host only."""
        if self.settings.gates is not None:
            return ""
        if self._hosts is None:
            self._hosts = texts(await self._slurm.config(), "SlurmctldHost")
        host = await self._slurm.active_controller() if len(self._hosts) > 1 else None
        if host is None or is_here(host):
            return ""
        await self._slurm.config()  # a backup controller answers this only once it has taken over
        return f"slurmctld runs on {host}"

    async def open(self) -> dict[str, batch_system.Known]:
        """See the protocol; serves the hooks."""
        if self._gates is not None:
            await self._gates.open()
        self._waiting.open()
        slurm = self._slurm
        if own := isinstance(slurm, OwnSlurm):
            self._hooks = self._register.hooks = self._make_gates()  # the queue is seen by them
        config, self._nodes, queue = await asyncio.gather(slurm.config(), slurm.nodes(), slurm.queue())
        if not own:
            self._hooks = self._register.hooks = self._make_hooks(config)
        rows = await self._take_stock(queue)
        self._sequences = Sequences(slurm, self._watch, self._hooks, self._register, self._now, requeue_delay(config))
        self._slots = Slots(self._slurm, self._sequences)
        await self._serve(self._hooks, "the hooks")
        if self._gates is not None:
            self._tasks.begin(self._gates.keep_clear())
        for row in rows:
            self._tasks.begin(self._sequences.mend(row, _AFTER_A_RUN))
        self._set_right()
        return self._all_known()

    def _make_hooks(self, config: Mapping[str, str]) -> HookServer:
        return HookServer(
            self.settings.hook_socket,
            slurm_user=commands.parse_user(config.get("SlurmUser", "")),
            on_offer=self._offered,
            on_withdrawn=self._withdrawn,
            on_killed=self._killed,
            on_starting=self._register.starting,
            on_ended=self._ended,
            gate_lead=self.settings.gate_lead,
        )

    def _make_gates(self) -> SlurmGates:
        """Return the gates of a user's own jobs, with all that they have said; ManagerError."""
        assert isinstance(self._slurm, OwnSlurm)
        gates = self._slurm.gates = SlurmGates(
            self.settings, self._slurm, on_offer=self._offered, on_withdrawn=self._withdrawn,
            on_starting=self._let_itself_go, jobs=self._register.jobs.keys,
        )  # fmt: skip
        gates.load()
        return gates

    def _let_itself_go(self, job_id: str, restarts: int) -> None:
        self._register.starting(job_id, restarts)
        self._watch.hint()

    async def _take_stock(self, queue: Sequence[JobRow]) -> list[JobRow]:
        """Load existing jobs, and drop reports that only repeat what `open` returns."""
        rows = await self._slurm.details(await self._register.unknown(queue))
        for row in rows:
            self._register.learn(row)
        self._register.tell_arrays()
        latest = time.time() + max(self.settings.backoff, OTHERS_TURN)
        for job in self._register.jobs.values():
            if job.restarts and job.eligible <= latest:  # an earlier service's delay: no user sets a begin time so near
                job.kept_back = job.eligible
        for report in self._take_told():
            if isinstance(report, batch_system.Refused | batch_system.Divided):
                self._reports.put_nowait(report)
        return rows

    def outlooks(self) -> dict[str, batch_system.JobOutlook]:
        """See the protocol: what `squeue --start` shows, and why a job gets no slot."""
        found = self._register.outlooks()
        for job_id in found.keys() & self._slots.unplanned.keys():
            told = found[job_id]
            why = f"it gets no slot: {self._slots.unplanned[job_id]}"
            found[job_id] = replace(told, reason="; ".join(filter(None, (told.reason, why))))
        return found

    async def node_states(self) -> dict[str, batch_system.NodeState]:
        return await self._slurm.node_states()

    async def foresee(self, nodes: int, seconds: int, names: Sequence[str]) -> batch_system.Foreseen:
        """See the protocol: Slurm's own `--test-only` does not know of the jobs that wait (see Plan)."""
        plan, partition = await asyncio.gather(self._slurm.plan(int(time.time())), self._slurm.default_partition())
        return plan.foresee(nodes, seconds, names, partition)

    async def adopt(self, job_id: str, named: Named, may: Callable[[batch_system.LoneJob], bool]) -> bool:
        """See the protocol: the job's comment names the mate. The last look says which jobs there are."""
        if not self._register.names_no_mate(job_id):
            return False
        async with self._learning:
            found = [row for row in await self._rows_of(job_id) if can_name(row) and may(lone(row))]
            for row in found:
                await self._adopt(row, named)
        await self._reports.join()
        return bool(found)

    async def _adopt(self, row: JobRow, named: Named) -> None:
        comment = comments.add(row.comment or "", named)
        await self._slurm.set_comment(row.job_id, comment)
        self._register.learn(replace(row, comment=comment))
        job, found = self._register.jobs[row.job_id], comments.find(comment)
        if job.named != found:
            self._register.relink(job, found)

    @property
    def tell_interval(self) -> float:
        return self.settings.tell_interval

    async def tell(self, job_id: str, text: str) -> None:
        """See the protocol: AdminComment shows it, which users cannot change, and their comments stay theirs."""
        await self._slurm.tell(self._of(job_id).job_id, text)

    async def start(self, job_id: str, at: float | None = None) -> bool:
        """See the protocol. If slurmctld restarts, loses the answer and offers the job again, we repeat the answer."""
        job = self._register.jobs.get(job_id)
        if job is None or job.phase is not Phase.OFFERED:
            return False
        if at is not None and not await self._announced(job, at):
            return False
        if not self._hooks.start(job_id, at, job.finding):
            return False
        job.phase, job.changed = Phase.TOLD_TO_START, self._now()
        job.started = at if at is not None else time.time()
        self._remove_what_is_over()
        return True

    async def _announced(self, job: BatchJob, at: float) -> bool:
        """Tell the gates of all nodes the instant. False: meanwhile the job's hook has gone."""
        offer = job.offer
        if self._gates is not None and self.settings.gate_lead:
            await self._gates.announce(job.job_id, at, job.finding)
        return job.phase is Phase.OFFERED and job.offer is offer

    async def _give_back(self, job: BatchJob, pause: float, offer: int | None) -> bool:
        given = await self._sequences.give_back(job, pause, offer)
        if self._slots.is_for_one_try(job.job_id) and not job.offered_as:
            await self._slots.unbook(job.job_id)
        return given

    async def _step_back(self, job: BatchJob, offer: int | None) -> bool:
        return await self._sequences.release(job, offer)

    async def requeue(self, job_id: str) -> None:
        """See the protocol; continues if the caller is cancelled."""
        await asyncio.shield(self._tasks.begin(self._sequences.end_run(self._of(job_id))))

    async def take_up_slots(self, slots: Mapping[str, batch_system.SlotOnRecord]) -> None:
        if self.settings.gates is not None:
            return  # its users cannot reserve nodes
        await until_it_answers(lambda: self._slots.take_up(slots, self._register.jobs))

    # Orders for slots continue if the caller is cancelled

    async def start_wanted(
        self, job_id: str, budget: Fraction, guards: dict[str, int], ready: Collection[str]
    ) -> batch_system.WantedStart:
        starting = self._slots.start_wanted(self._of(job_id), budget, guards, ready, self.settings.try_patience)
        return await self._tasks.finish(starting)

    async def quote(self, job_id: str, not_before: int, paired: Collection[str], *, keep: bool) -> int | None:
        return await self._tasks.finish(self._slots.quote(self._of(job_id), not_before, paired, keep=keep))

    async def drop_quote(self, job_id: str) -> None:
        await self._tasks.finish(self._slots.drop_quote(job_id))

    async def book(self, job_id: str, generation: int, at: int, paired: Collection[str]) -> bool:
        return await self._tasks.finish(self._slots.book(self._of(job_id), generation, at, paired))

    async def claim(self, job_id: str) -> int:
        return await self._tasks.finish(self._slots.claim(self._of(job_id), self.settings.try_patience))

    async def unbook(self, job_id: str) -> None:
        await self._tasks.finish(self._slots.unbook(job_id))

    def _remove_what_is_over(self) -> None:
        for job_id in self._slots.over(self._register.jobs):
            self._tasks.begin(self._slots.unbook(job_id))

    async def _name(self, job: BatchJob, named: Named | None) -> None:
        """See the class above: the comment keeps the rest."""
        if named is not None and not comments.is_of_task(named, job.task):
            raise ValueError(comments.ARRAY)
        for row in await self._rows_of(job.job_id):
            rest = comments.remove(row.comment or "")
            await self._slurm.set_comment(job.job_id, rest if named is None else comments.add(rest, named))
            job.named = named

    async def _rows_of(self, job_id: str) -> list[JobRow]:
        """Return the row of a job; Slurm shows a whole array for the id of its last task."""
        return [row for row in await self._slurm.details([job_id]) if row.job_id == job_id]

    async def hasten(self, job_id: str) -> None:
        await self._sequences.hasten(self._of(job_id))

    async def cancel(self, job_id: str) -> None:
        await self._slurm.cancel(self._of(job_id).job_id)

    async def forget(self, job_id: str) -> None:
        """See the protocol: a job is forgotten when Slurm forgets it."""

    async def examine(self, service: Account, *, serving: bool, slots: SlotsOnRecord = dict) -> list[Finding]:
        from cosched_adapters.slurm.doctor import examine  # a service does not need it

        return await examine(self.settings, service, serving=serving, slots=slots)

    async def close(self) -> None:
        """Stop watching. Jobs keep waiting in their hooks as long as these are patient, and are offered again."""
        await self._stop(self._hooks)

    # Calls of the hook server

    def _offered(self, offer: Offer) -> None:
        if not self._register.offered(offer) and self._learner is None:
            self._learner = self._tasks.begin(self._learn_of_offers())

    def _withdrawn(self, job_id: str) -> None:
        self._register.withdrawn(job_id)
        self._watch.hint()

    def _killed(self, offer: Offer) -> None:
        self._register.killed(offer)
        self._watch.hint()

    def _ended(self, end: HookEnd) -> None:
        if self._register.ended(end):
            self._watch.hint()
        self._tell_freed()

    def _tell_freed(self) -> None:
        """Note that a job has ended, with or without a mate, or we have looked at the queue."""
        if self._slots:
            self._reports.put_nowait(batch_system.Freed())

    # Looks at the queue

    async def _look(self) -> None:
        began = self._now()
        rows = await self._slurm.queue()
        await self._learn(await self._register.unknown(rows))
        if self._register.tell_arrays():
            self._watch.hint()  # their tasks are jobs now
        for row in await self._register.see(rows, began):
            self._tasks.begin(self._sequences.mend(row, 0))
        await asyncio.sleep(0)
        self._set_right()
        self._hooks.keep_finding(self._register.jobs)
        self._remove_what_is_over()
        self._tell_freed()
        await self._slots.sweep()
        await self._waiting.sweep(rows)

    def _set_right(self) -> None:
        for job in self._register.take_misled():
            self._tasks.begin(self._sequences.set_right(job))

    async def _learn(self, job_ids: list[str]) -> None:
        async with self._learning:
            unknown = [job_id for job_id in job_ids if job_id not in self._register.jobs]
            slices = Slices()
            for row in await self._slurm.details(unknown):
                self._register.learn(row)
                await slices.pause()
            for array, owner in await self._register.arrays.divide(self._slurm):
                self._register.refuse(array, owner, TOO_MANY)

    async def _learn_of_offers(self) -> None:
        """Query the jobs of all offers that came during the last query, with one call of squeue."""
        try:
            while unseen := dict(self._register.unseen):
                with suppress(ManagerError):  # its hooks will be gone soon
                    await self._learn([*{*unseen, *(offer.first for offer in unseen.values())}])
                if self._register.unseen.keys() & unseen.keys():
                    await asyncio.sleep(PACE)
        finally:
            self._learner = None


def _make(domain: str, directory: Path, settings: Mapping[str, object]) -> SlurmManager:  # noqa: ARG001
    """Make the manager; SettingError."""
    return SlurmManager(read_settings(directory, settings))


# The entry point `slurm` of the group `cosched.adapters`.
create = batch_system.BatchSystemFactory(_make, submit, can_meet=True, can_group=True, names_nodes=True)
