"""The server for PBS's hook, which asks whether a job may run, and tells of others' doings. It never waits for us long.

Lines as in `hook_lines`; a connection has one request and one answer.

    runjob    job vnodes owner name requestor account project    the server is about to run a job on nodes
              [pair|mate|group] [or_alone] [ends_with] [fail_together] [if_requeued] [together_for]
    queued                                                       a user has submitted or changed a job
    changing  job                                                its resources or its queue are about to change
    ended     job                                                a job has ended

The answer is `accept`, or `reject` with `why`, one line for the job's comment and for the user. `accept` to `runjob`
has the variables by which the job finds its mates. The hook asks about a job that names no mate only while the file
SOCKET.kept exists: nodes are kept for some job.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cosched_adapters.hook_lines import Fields, LineError, encode
from cosched_adapters.mate_fields import RESOURCES
from cosched_adapters.pbs import commands
from cosched_adapters.root_hooks import RootHooks

KEPT = ".kept"


@dataclass(frozen=True, slots=True)
class Asked:
    """A job that the server is about to run."""

    job_id: str
    array: bool
    vnodes: str
    owner: str
    name: str
    requestor: str  # "Scheduler", or who has called qrun
    resources: Fields
    account: str | None = None  # which it is charged to; None: an older hook, which does not tell


class HookServer:
    """Serves the hook on the Unix socket `path`, in an existing folder.

    `on_run` and `on_change` return None if the job may run or be changed, else why not. `on_queued` and `on_ended` are
    hints. `keeping`: whether nodes are kept for a job; `open` and `on_run` may change that to true. `finding` returns
    the variables for a job that may run.
    """

    def __init__(
        self,
        path: Path,
        on_run: Callable[[Asked], str | None],
        on_change: Callable[[str], str | None],
        on_queued: Callable[[], None],
        on_ended: Callable[[str], None],
        keeping: Callable[[], bool],
        finding: Callable[[str], Fields],
    ) -> None:
        self._kept = path.with_name(path.name + KEPT)
        self._keeping, self._finding, self._on_run, self._on_change = keeping, finding, on_run, on_change
        self._on_queued, self._on_ended = on_queued, on_ended
        self._hooks = RootHooks(path, self._answer)

    async def open(self) -> None:
        """Start listening. OSError: the folder cannot be used, or another process serves this socket."""
        await self._hooks.open()
        self._mark()

    async def close(self) -> None:
        """Stop listening: jobs start from now on as if there were no service."""
        await self._hooks.close()

    def _mark(self) -> None:
        """Tell the hook whether nodes are kept, before it hears the answer."""
        if self._keeping():
            self._kept.touch()
        else:
            self._kept.unlink(missing_ok=True)

    async def _answer(self, verb: str, fields: Fields, _: asyncio.StreamReader) -> bytes:
        if verb == "runjob":
            asked = _asked(fields)
            why = self._on_run(asked)
            self._mark()
            return _verdict(why, self._finding(asked.job_id) if why is None else None)
        if verb == "changing":
            return _verdict(self._on_change(commands.job_number(fields.get("job", ""))))
        if verb == "ended":
            self._on_ended(commands.job_number(fields.get("job", "")))
        elif verb == "queued":
            self._on_queued()
        else:
            raise LineError("unknown verb")
        return encode("accept")


def _verdict(why: str | None, fields: Fields | None = None) -> bytes:
    return encode("accept", fields) if why is None else encode("reject", {"why": why})


def _asked(fields: Fields) -> Asked:
    id = fields.get("job", "")
    return Asked(
        commands.job_number(id),
        commands.is_array(id),
        fields.get("vnodes", ""),
        fields.get("owner", ""),
        fields.get("name", ""),
        fields.get("requestor", ""),
        {name: fields[name] for name in RESOURCES if name in fields},
        commands.account(fields["account"], fields.get("project", "")) if "account" in fields else None,
    )
