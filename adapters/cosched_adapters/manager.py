"""What all resource managers have in common: calls, reports and errors.

A resource manager is one of two kinds, each with its own protocol, which extends `Manager`:

* a `launcher` runs what our scheduler has chosen (local, replay);
* a `batch_system` chooses by itself, and we say whether the chosen job starts (Slurm, PBS).

An adapter is a callable in the entry-point group `cosched.adapters`: see `loading`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, TypeVar

from cosched_adapters.findings import Finding
from cosched_adapters.permissions import Account

Found = TypeVar("Found", covariant=True)
AnyReport = TypeVar("AnyReport", covariant=True)
SlotsOnRecord = Callable[[], Mapping[str, int] | None]  # by job, in seconds since 1970; None: the service is silent


class ManagerError(Exception):
    """A resource manager cannot do what it is asked; `str()` is one line that may be shown to the user."""


class SettingError(ManagerError):
    """The value of `key` in the section [manager] cannot be used."""

    def __init__(self, key: str, problem: str) -> None:
        self.key, self.problem = key, problem
        super().__init__(f"{key}: {problem}")


class UnavailableError(ManagerError):
    """The manager does not answer at present. It may have carried out the request all the same."""


class UnknownJobError(ManagerError):
    """The manager does not know this job, or has forgotten it."""


class MustHoldError(ManagerError):
    """The manager would cancel this job if it gave its nodes back: it can only hold, or start."""


class NoRequeueError(ManagerError):
    """The manager cannot queue this running job again."""


class End(StrEnum):
    """How a job ended."""

    EXITED = "exited"  # by itself; `exit_code` says whether it succeeded
    SIGNALLED = "signalled"  # by a signal that the manager did not send
    TIMEOUT = "timeout"  # its walltime was over
    CANCELLED = "cancelled"  # by `cancel`
    UNSTARTED = "unstarted"  # it could not be started; nothing of it ran
    LOST = "lost"  # its supervisor died, or its node failed; what was left has been killed


@dataclass(frozen=True, slots=True)
class Started:
    """The job runs: its first instruction came at `at`, in nanoseconds since 1970 by this host's clock."""

    job_id: str
    at: int


@dataclass(frozen=True, slots=True)
class Ended:
    """No process of the job is left. Comes once, after `Started` if it started. Times in nanoseconds since 1970."""

    job_id: str
    how: End
    at: int
    started_at: int | None = None  # None: it never ran
    exit_code: int | None = None  # of the job's first process; None if a signal ended it, or unknown
    signal: int | None = None  # the signal that ended its first process
    reason: str = ""  # one line for the user; empty if there is nothing to explain

    @property
    def succeeded(self) -> bool:
        """Whether it exited with code 0: COMPLETED. All others are FAILED, or CANCELLED if `how` says so."""
        return self.how is End.EXITED and self.exit_code == 0


Report = Started | Ended


class Manager(Protocol[Found, AnyReport]):
    """One resource manager of one policy domain. All calls come from one event loop, `open` first and `close` last.

    Calls raise ManagerError if the manager cannot do what we ask.
    """

    @property
    def nodes(self) -> int:
        """The size of the machine; it may be 0 before `open`."""

    async def elsewhere(self) -> str:
        """Say where the manager runs, if that is not on this host, whose service stands by then; empty: here.

        ManagerError: it cannot tell.
        """
        return ""

    async def open(self) -> Mapping[str, Found]:
        """Find all jobs that are not forgotten, by id. Report what happens from now on.

        SettingError or ManagerError: the manager cannot be used. UnavailableError: it does not answer yet; try again.
        """

    def reports(self) -> AsyncIterator[AnyReport]:
        """Yield what happens to jobs from `open` on, without end, for one reader."""

    async def cancel(self, job_id: str) -> None:
        """End a job's processes; `Ended` follows. Does nothing to a job that has ended; raises UnknownJobError."""

    async def forget(self, job_id: str) -> None:
        """Drop the records of an ended job, after the service has stored its end. Does nothing if the job is unknown.

        Raises ManagerError if it has not ended.
        """

    async def examine(self, service: Account, *, serving: bool, slots: SlotsOnRecord = dict) -> list[Finding]:  # noqa: ARG002
        """Return what is right and wrong with the set-up, for `cosched doctor`, which does not call `open`.

        `service`: the service's user; `serving`: whether the service runs; `slots`: asks it for its jobs' slots.
        """
        return []

    async def close(self) -> None:
        """Stop watching. Jobs keep running; the next `open` finds them again."""
