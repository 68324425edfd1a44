"""Examines a cluster for `cosched doctor`: the queues' prologs, the service's rights, and what slows it down."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from cosched_adapters.findings import SHELL, Finding, ok, problem, section, warning
from cosched_adapters.gridengine.calls import GridEngine
from cosched_adapters.gridengine.commands import RefusedError
from cosched_adapters.gridengine.settings import GridEngineSettings
from cosched_adapters.manager import ManagerError
from cosched_adapters.permissions import Account

_FLUSHED = "00:00:15"  # what Grid Engine takes if nothing is configured


async def examine(settings: GridEngineSettings, service: Account) -> list[Finding]:
    """See `adapters.manager.Manager`."""
    engine = GridEngine(settings)
    try:
        entitled = [*await _names(engine, "-so"), *await _names(engine, "-sm")]
        queues = {name: await engine.show("qconf", "-sq", name) for name in await _names(engine, "-sql")}
        configuration = await engine.show("qconf", "-sconf")
    except ManagerError as error:
        start = "start it, or name the folder of its commands"
        return [problem("qmaster", f"does not answer: {error}", start, section("manager"), 'bin = "/usr/bin"')]
    return [
        ok("qmaster", "it answers"),
        check_rights(entitled, service),
        *(finding for name, shown in queues.items() for finding in check_queue(name, shown, settings.hook_socket)),
        *([] if queues else [problem("queues", "there is none: no job starts", "add one", SHELL, "qconf -aq main.q")]),
        check_accounting(configuration),
    ]


async def _names(engine: GridEngine, option: str) -> list[str]:
    """Return the names in a list of qconf, which fails if the list is empty: "no operator defined"."""
    try:
        return (await engine.show("qconf", option)).split()
    except RefusedError as error:
        if str(error).endswith(" defined"):
            return []
        raise


def check_rights(entitled: Sequence[str], service: Account) -> Finding:
    """Judge whether the service may hold back and change all jobs."""
    if service.name in entitled:
        return ok("rights", f"{service.name} may hold back and change all jobs")
    found = f"{service.name} is not an operator of Grid Engine: jobs that yield cannot be held back"
    return problem("rights", found, "make it one", SHELL, f"qconf -ao {service.name}")


def check_queue(queue: str, shown: str, socket: Path) -> Iterator[Finding]:
    """Judge whether a queue's jobs wait for their mates, and tell of their ends."""
    found = dict(line.split(None, 1) for line in _joined(shown).splitlines() if len(line.split()) > 1)
    prolog, epilog = (found.get(name, "NONE").split() for name in ("prolog", "epilog"))
    subject = f"queue {queue}"
    change = f'qconf -mattr queue {{0}} "root@/etc/cosched/{{0}} {socket}" {queue}'
    if not _asks(prolog, socket):
        what = "its jobs do not wait for their mates: its prolog is " + " ".join(prolog)
        yield problem(subject, what, "give it cosched's prolog", SHELL, change.format("prolog"))
    else:
        yield ok(subject, f"its prolog asks the service at {socket}")
    if not _asks(epilog, socket):
        what = "ends of its jobs are found at the next look (poll_interval): its epilog is " + " ".join(epilog)
        yield warning(subject, what, "give it cosched's epilog", SHELL, change.format("epilog"))


def _asks(words: Sequence[str], socket: Path) -> bool:
    return len(words) > 1 and words[0].startswith("root@") and words[1] == str(socket)


def check_accounting(configuration: str) -> Finding:
    """Judge whether ends are known, and soon."""
    change = "in `qconf -mconf`, write accounting=true accounting_flush_time=00:00:00 into reporting_params"
    given = dict(word.partition("=")[::2] for word in _joined(configuration).split() if "=" in word)
    if given.get("accounting", "true").lower() not in ("true", "1"):
        return problem("accounting", "not written: how jobs have ended stays unknown", change)
    late = _seconds(given.get("accounting_flush_time", given.get("flush_time", _FLUSHED)))
    if late == 0:
        return ok("accounting", "written at once")
    return warning("accounting", f"written late: ends of jobs are told up to {late} s late", change)


def _seconds(time: str) -> int:
    """Return h:m:s, or s, in seconds."""
    return sum(int(part or 0) * 60**place for place, part in enumerate(reversed(time.split(":"))))


def _joined(shown: str) -> str:
    """Return what qconf shows with a value on one line."""
    return shown.replace("\\\n", " ")
