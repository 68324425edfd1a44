"""Examines a server for `cosched doctor`: the resources, the hook and the settings that coscheduling depends on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cosched.adapters.findings import SHELL, Finding, ok, problem, section, warning
from cosched.adapters.manager import ManagerError
from cosched.adapters.pbs import commands
from cosched.adapters.pbs.calls import Pbs
from cosched.adapters.pbs.commands import HOLDER, JobRow, NodeRow
from cosched.adapters.pbs.settings import PbsSettings

HOOK = "cosched"
EVENTS = ("runjob", "queuejob", "modifyjob", "movejob", "jobobit")
RESOURCES = {"pair": "string,flag=m", "mate": "string,flag=m", "or_alone": "boolean,flag=m", HOLDER: "string,flag=h"}
_LONGEST_ALARM = 30  # seconds: the server does nothing else meanwhile
_IMPORT = f"qmgr -c 'import hook {HOOK} application/x-python default cosched_hook.py'"
_CONFIGURE = f"qmgr -c 'import hook {HOOK} application/x-config default cosched.json'"

Listed = Mapping[str, Mapping[str, str]]  # attributes by the name of the object


async def examine(settings: PbsSettings, *, serving: bool) -> list[Finding]:
    """See `adapters.manager.Manager`. `serving`: whether the service runs."""
    pbs = Pbs(settings)
    try:
        server = await pbs.server()
        nodes, jobs = await pbs.nodes(), await pbs.queue()
    except ManagerError as error:
        start = "start it, or name the folder of its commands"
        return [problem("pbs_server", f"does not answer: {error}", start, section("manager"), 'bin = "/opt/pbs/bin"')]
    return [
        ok("pbs_server", f"OpenPBS {server.get('pbs_version', 'of unknown version')} answers"),
        check_resources(await pbs.listed("resource")),
        check_hook(await pbs.listed("hook", HOOK)),
        check_history(server),
        check_holds(nodes, jobs, serving=serving),
    ]


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
    alarm = commands.seconds(hook.get("alarm", ""))
    if alarm > _LONGEST_ALARM:
        line = f"qmgr -c 'set hook {HOOK} alarm = {_LONGEST_ALARM}'"
        return warning("hook", f"its alarm is {alarm} s: so long it may stall the server", "shorten it", SHELL, line)
    return ok("hook", f"{HOOK} is called for {', '.join(EVENTS)}")


def check_history(server: Mapping[str, object]) -> Finding:
    """Judge whether PBS remembers jobs that have ended."""
    if str(server.get("job_history_enable", "")).lower() == "true":
        return ok("job history", "on")
    found = "off: how a job has ended is not known if it ended while the service was away"
    return problem("job history", found, "turn it on", SHELL, "qmgr -c 'set server job_history_enable = true'")


def check_holds(nodes: Sequence[NodeRow], jobs: Sequence[JobRow], *, serving: bool) -> Finding:
    """Find nodes that are held for jobs that do not wait any more: so a service that was killed leaves them."""
    waiting = {job.job_id for job in jobs if job.state in ("Q", "H", "W")}
    held = {node.name: holder[0] for node in nodes if (holder := commands.held_for(node.holder)) is not None}
    left = [node for node, job in held.items() if job not in waiting]
    if not left:
        return ok("held nodes", f"{len(held)}, all for jobs that wait" if held else "none")
    change = "put them online" if serving else "start the service, which puts them online, or do it by hand"
    lines = [commands.put_online(left), commands.disown(left)]
    quoted = (f"{program} {flag} '{line}'" for program, flag, line in lines)
    return problem("held nodes", f"{', '.join(left)} offline for jobs that do not wait", change, SHELL, *quoted)
