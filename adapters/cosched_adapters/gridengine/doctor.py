"""Examines a cluster for `cosched doctor`: the queues' prologs, the service's rights, and what slows it down."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cosched_adapters.findings import SHELL, Finding, ok, problem, section, warning
from cosched_adapters.gridengine.calls import GridEngine
from cosched_adapters.gridengine.settings import GridEngineSettings
from cosched_adapters.manager import ManagerError
from cosched_adapters.permissions import Account


async def examine(settings: GridEngineSettings, service: Account) -> list[Finding]:
    """See `adapters.manager.Manager`."""
    engine = GridEngine(settings)
    try:
        operators = await engine.show("qconf", "-so")
        managers = await engine.show("qconf", "-sm")
        queues = {
            name: await engine.show("qconf", "-sq", name) for name in (await engine.show("qconf", "-sql")).split()
        }
        configuration = await engine.show("qconf", "-sconf")
    except ManagerError as error:
        start = "start it, or name the folder of its commands"
        return [problem("qmaster", f"does not answer: {error}", start, section("manager"), 'bin = "/usr/bin"')]
    return [
        ok("qmaster", "it answers"),
        check_rights([*operators.split(), *managers.split()], service),
        *(check_prolog(name, shown, settings.hook_socket) for name, shown in queues.items()),
        check_accounting(configuration),
    ]


def check_rights(entitled: Sequence[str], service: Account) -> Finding:
    """Judge whether the service may hold back and change all jobs."""
    if service.name in entitled:
        return ok("rights", f"{service.name} may hold back and change all jobs")
    found = f"{service.name} is no operator of Grid Engine: it can hold back no job that yields"
    return problem("rights", found, "make it one", SHELL, f"qconf -ao {service.name}")


def check_prolog(queue: str, shown: str, socket: Path) -> Finding:
    """Judge whether a queue's jobs wait for their mates."""
    found = dict(line.split(None, 1) for line in shown.replace("\\\n", " ").splitlines() if len(line.split()) > 1)
    words = found.get("prolog", "NONE").split()
    if len(words) > 1 and words[0].startswith("root@") and words[1] == str(socket):
        return ok(f"queue {queue}", f"its prolog asks the service at {socket}")
    line = f'qconf -mattr queue prolog "root@/etc/cosched/prolog {socket}" {queue}'
    what = "its jobs do not wait for their mates: its prolog is " + " ".join(words)
    return problem(f"queue {queue}", what, "give it cosched's prolog", SHELL, line)


def check_accounting(configuration: str) -> Finding:
    """Judge whether ends are known soon."""
    if "accounting_flush_time=00:00:00" in configuration.replace(
        "accounting_flush_time=0 ", "accounting_flush_time=00:00:00"
    ):
        return ok("accounting", "written at once")
    found = "written late: ends of jobs are told up to 15 s late"
    change = "in `qconf -mconf`, add accounting_flush_time=00:00:00 to reporting_params"
    return warning("accounting", found, change)
