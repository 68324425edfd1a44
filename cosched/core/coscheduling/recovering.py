"""What follows a restart: jobs are taken up as they were recorded."""

from __future__ import annotations

from dataclasses import dataclass

from cosched.core.coscheduling.allocations import HOLDING, READY, RUNNING, Allocations
from cosched.core.coscheduling.asking import Asking
from cosched.core.coscheduling.following import Following
from cosched.core.coscheduling.hearing import Hearing
from cosched.core.coscheduling.ledger import Ledger, PairedJob, membership
from cosched.core.coscheduling.names import Names
from cosched.core.coscheduling.starts.algorithm1 import Algorithm1
from cosched.core.coscheduling.starts.gathering import Gathering
from cosched.core.coscheduling.starts.promises import Promises
from cosched.core.coscheduling.starts.telling import Telling
from cosched.core.effects import AskAgain, Effect, SetTimer, Timer, Want
from cosched.core.job import WAITING


@dataclass
class Recovering:
    """Timers are set, questions are asked again, and orders given again."""

    ledger: Ledger
    names: Names
    allocations: Allocations
    asking: Asking
    gathering: Gathering
    algorithm1: Algorithm1
    promises: Promises
    telling: Telling
    following: Following
    hearing: Hearing

    def recover(self, job: PairedJob, since: int, now: int) -> list[Effect]:
        """Take up a job as recorded, submitted at `since`: set timers, ask again; holds keep their release times."""
        self.ledger.now = now
        self.names.restore(job)
        effects = self.telling.recover(job)
        if job.state.final:
            return effects
        if job.state is HOLDING:
            effects += self.allocations.recover_hold(job)
            self.ledger.changed[job.id] = None
            job.hinted |= job.missed  # nothing else says that the peer is there: it may never have been away
        if job.state is not RUNNING and not job.alone:
            effects += self.allocations.patience(job, since)
        if job.wanted:
            effects.append(Want(job.id))
        if job.group is None:
            return effects
        effects += self._recover_start(job, now)
        if job.group.lost:
            until = max(lost.until for lost in job.group.lost.values())
            effects.append(SetTimer(job.id, Timer.SUCCESSOR, max(now, until)))
        effects += self.following.recover(job, now)
        # The scheduler does not know the job yet: it hears of one that is ready, not of one that asks again.
        asked = self.hearing.ask(job, now) if job.hinted else []
        return [*effects, *(effect for effect in asked if type(effect) is not AskAgain)]

    def _recover_start(self, job: PairedJob, now: int) -> list[Effect]:
        """What was undecided is dropped, what was decided is told again, and a promise waits for its outcome."""
        group = membership(job)
        effects = self.gathering.stop_asking(job, now)
        if job.state in WAITING and group.wanted_until > now:
            self.ledger.wanted[job.id] = None
        if group.promise is not None:
            effects += self.promises.recover(job, group.promise, now)
        elif job.call is not None:
            effects += self.algorithm1.recover(job, now)
        elif job.state is READY or (job.state is HOLDING and group.is_pair and job.alone and group.lacks_some):
            effects += self.asking.ask(job, now)
        if job.slot is not None:
            effects += self.allocations.slots.await_it(job, now)
            effects += self.gathering.agreeing.keep(job) if job.proposes and not job.confirmed else []
        return effects + self.algorithm1.make_void(job, now)
