"""Examines a server for `cosched doctor`: the resources, the hook and the settings that coscheduling depends on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from cosched_adapters.findings import SHELL, Finding, Grade, guarded, ok, problem, section, warning
from cosched_adapters.manager import ManagerError
from cosched_adapters.mate_fields import ADOPTABLE
from cosched_adapters.own.checks import check_gates
from cosched_adapters.pbs import commands
from cosched_adapters.pbs.calls import Pbs
from cosched_adapters.pbs.commands import HOLDER, JobRow, NodeRow
from cosched_adapters.pbs.settings import PbsSettings
from cosched_adapters.permissions import Account

HOOK = "cosched"
EVENTS = ("runjob", "queuejob", "modifyjob", "movejob", "jobobit")
RESOURCES = dict.fromkeys(("pair", "mate", "group"), "string,flag=m")
RESOURCES |= dict.fromkeys(("ends_with", "if_requeued", "together_for"), "string,flag=m")
RESOURCES |= dict.fromkeys(("or_alone", "fail_together", ADOPTABLE), "boolean,flag=m") | {HOLDER: "string,flag=h"}
_LONGEST_ALARM = 10  # seconds: the server does nothing else meanwhile
_SCHEDULER_S = "/var/spool/pbs/sched_priv"  # as installed
_IMPORT = f"qmgr -c 'import hook {HOOK} application/x-python default cosched_hook.py'"
_CONFIGURE = f"qmgr -c 'import hook {HOOK} application/x-config default cosched.json'"

Listed = Mapping[str, Mapping[str, str]]  # attributes by the name of the object


async def examine(settings: PbsSettings, service: Account, *, serving: bool) -> list[Finding]:
    """See `adapters.manager.Manager`."""
    pbs = Pbs(settings)
    try:
        return await _examine(pbs, settings, service, serving=serving)
    finally:
        await pbs.close()


async def examine_own(settings: PbsSettings) -> list[Finding]:
    """Return the findings of a user's own service, which needs neither resources nor a hook."""
    pbs = Pbs(settings)
    try:
        answers = _answers(await pbs.server())
    except ManagerError as error:
        return [_silent(error)]
    finally:
        await pbs.close()
    try_it = 'qsub -- /usr/bin/test -w "$HOME"; its Exit_status (qstat -x -f) must be 0'
    return [answers, *guarded("gates", check_gates, settings.gates, try_it)]


async def _examine(pbs: Pbs, settings: PbsSettings, service: Account, *, serving: bool) -> list[Finding]:
    try:
        server = await pbs.server()
        nodes, jobs = await pbs.nodes(), await pbs.queue()
    except ManagerError as error:
        return [_silent(error)]
    return [
        _answers(server),
        *guarded("rights", check_rights, server, service),
        *guarded("scheduling", check_scheduling, server),
        *await _check_what_administrators_see(pbs, settings),
        *guarded("job history", check_history, server),
        *guarded("held nodes", partial(check_holds, serving=serving), nodes, jobs),
    ]


def _silent(error: ManagerError) -> Finding:
    start = "start it, or name the folder of its commands"
    return problem("pbs_server", f"does not answer: {error}", start, section("manager"), 'bin = "/opt/pbs/bin"')


def _answers(server: Mapping[str, object]) -> Finding:
    return ok("pbs_server", f"OpenPBS {server.get('pbs_version', 'of unknown version')} answers")


async def _check_what_administrators_see(pbs: Pbs, settings: PbsSettings) -> list[Finding]:
    try:
        found = [check_resources(await pbs.listed("resource")), check_hook(await pbs.listed("hook", HOOK))]
        if found[-1].grade is Grade.OK:
            found.append(check_configuration(await pbs.hook_settings(HOOK), settings.hook_socket))
        folder = next((sched.get("sched_priv") for sched in (await pbs.listed("sched")).values()), None)
    except ManagerError as error:
        return [warning("hook", f"cannot be examined: {error}", "run this command as root on the server's host")]
    return [*found, check_preemption(Path(folder or _SCHEDULER_S) / "sched_config")]


def check_rights(server: Mapping[str, object], service: Account) -> Finding:
    """Judge whether the service may take nodes offline and start jobs."""
    entries = [entry for role in ("operators", "managers") for entry in str(server.get(role, "")).split(",")]
    users = {entry.strip().partition("@")[0] for entry in entries}
    if service.uid == 0 or not users.isdisjoint((service.name, "*")):
        return ok("rights", f"{service.name} may take nodes offline and start jobs")
    line = f"qmgr -c 'set server operators += {service.name}@{server.get('server_host', '*')}'"
    found = f"{service.name} is not an operator of PBS: it can take no node offline and start no job"
    return problem("rights", found, "make it one", SHELL, line)


def check_scheduling(server: Mapping[str, object]) -> Finding:
    """Judge whether PBS starts jobs."""
    if str(server.get("scheduling", "")).lower() == "true":
        return ok("scheduling", "on")
    found = "off: no job starts; cosched leaves it so"
    return warning("scheduling", found, "turn it on when you are done", SHELL, "qmgr -c 'set server scheduling = true'")


def check_preemption(path: Path) -> Finding:
    """Judge whether the scheduler suspends jobs whose mates would run on."""
    change, line = "turn it off, then: kill -HUP of pbs_sched", "preemptive_sched: false ALL"
    try:
        lines = [line.split("#")[0].split() for line in path.read_text(errors="replace").splitlines()]
    except OSError as error:
        return warning("preemption", f"{path}: {error.strerror}", "see that it has this line", str(path), line)
    on = [words for words in lines if words[:1] == ["preemptive_sched:"] and words[1:2] != ["false"]]
    if not on:
        return ok("preemption", "off")
    found = "on: a job may be suspended or queued again while its mate runs"
    return warning("preemption", found, change, str(path), line)


def check_resources(listed: Listed) -> Finding:
    """Judge the custom resources."""
    missing = [name for name in RESOURCES if name not in listed]
    if not missing:
        return ok("resources", ", ".join(RESOURCES))
    lines = (f"qmgr -c 'create resource {name} type={RESOURCES[name]}'" for name in missing)
    return problem("resources", f"there is no {', '.join(missing)}", "create what is missing", SHELL, *lines)


def check_hook(listed: Listed) -> Finding:
    """Judge the server's hook."""
    hook = listed.get(HOOK)
    if hook is None:
        create = f"qmgr -c 'create hook {HOOK} event=\"{','.join(EVENTS)}\"'"
        return problem("hook", f"there is no hook {HOOK}", "install it", SHELL, create, _IMPORT, _CONFIGURE)
    lacking = [event for event in EVENTS if event not in hook.get("event", "").split(",")]
    if lacking:
        line = f"qmgr -c 'set hook {HOOK} event=\"{','.join(EVENTS)}\"'"
        return problem("hook", f"it is not called for {', '.join(lacking)}", "add these events", SHELL, line)
    if hook.get("enabled") != "true":
        return problem("hook", "it is disabled: jobs do not wait for their mates", "enable it", SHELL,
                       f"qmgr -c 'set hook {HOOK} enabled = true'")  # fmt: skip
    alarm = commands.seconds(hook.get("alarm", "30"))
    if alarm > _LONGEST_ALARM:
        line = f"qmgr -c 'set hook {HOOK} alarm = {_LONGEST_ALARM}'"
        return warning("hook", f"its alarm is {alarm} s: so long it may stall the server", "shorten it", SHELL, line)
    return ok("hook", f"{HOOK} is called for {', '.join(EVENTS)}")


def check_configuration(configured: Mapping[str, object], socket: Path) -> Finding:
    """Judge whether the hook finds the service."""
    if configured.get("socket") == str(socket):
        return ok("hook's configuration", f"it asks the service at {socket}")
    there = configured.get("socket", "nowhere")
    found = f"the hook looks for the service at {there}, and this one is at {socket}"
    return problem("hook's configuration", found, "correct cosched.json, and import it", SHELL, _CONFIGURE)


def check_history(server: Mapping[str, object]) -> Finding:
    """Judge whether PBS remembers jobs that have ended."""
    if str(server.get("job_history_enable", "")).lower() == "true":
        return ok("job history", "on")
    found = "off: how a job has ended is not known if it ended while the service was away"
    return problem("job history", found, "turn it on", SHELL, "qmgr -c 'set server job_history_enable = true'")


def check_holds(nodes: Sequence[NodeRow], jobs: Sequence[JobRow], *, serving: bool) -> Finding:
    """Find nodes held for jobs that do not wait any more, as a service that was killed leaves them."""
    waiting = {job.job_id for job in jobs if job.state in ("Q", "H", "W")}
    held = {node.name: holder[0] for node in nodes if (holder := commands.held_for(node.holder)) is not None}
    left = [node for node, job in held.items() if job not in waiting]
    if left:
        change = "put them online" if serving else "start the service, which puts them online, or do it by hand"
        lines = [commands.put_online(left), commands.disown(left)]
        found = f"{', '.join(left)} offline for jobs that do not wait"
        return problem("held nodes", found, change, SHELL, *map(_quoted, lines))
    online = [node.name for node in nodes if node.name in held and "offline" not in node.states]
    if online:
        found = f"{', '.join(online)} put online by somebody, though held for jobs that wait"
        return warning("held nodes", found, "remove the note, or take them offline", SHELL,
                       _quoted(commands.disown(online)))  # fmt: skip
    return ok("held nodes", f"{len(held)}, all for jobs that wait" if held else "none")


def _quoted(argv: Sequence[str]) -> str:
    program, flag, line = argv
    return f"{program} {flag} '{line}'"
