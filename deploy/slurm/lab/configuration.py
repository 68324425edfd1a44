"""The options of a cluster of the laboratory, and its slurm.conf."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

# A begin time that passes is no event for Slurm: without sched_interval it may notice it only a minute later.
QUICK = "bf_interval=1,batch_sched_delay=0,sched_interval=1,sched_min_interval=0"
_REPEATABLE = ("nodename", "partitionname")


@dataclass(frozen=True)
class Options:
    """How the clusters of a laboratory are set up.

    prolog, task_prolog, jobcomp: executables for PrologSlurmctld, TaskProlog and JobCompType=jobcomp/script.
    job_submit: a job_submit.lua, copied beside slurm.conf.
    gpus: of each node; no devices, but Slurm counts them. memory: MB of each node, which Slurm counts; 0: it does not.
    lines: further lines of slurm.conf, `Key=Value`; they replace the laboratory's own lines of the same keys.
    quick: schedule at once (SchedulerParameters for tests) instead of at the pace of Slurm's defaults.
    """

    nodes: int = 4
    cpus: int = 1
    gpus: int = 0
    memory: int = 0
    prolog: Path | None = None
    task_prolog: Path | None = None
    jobcomp: Path | None = None
    job_submit: Path | None = None
    lines: tuple[str, ...] = ()
    quick: bool = True


def key_of(line: str) -> str:
    """Return the parameter that a line sets, in lower case: Slurm ignores case."""
    return line.partition("=")[0].strip().lower()


def slurm_conf(name: str, directory: Path, ports: list[int], options: Options) -> str:
    """Return the slurm.conf of the cluster `name` in `directory`; the ports are the controller's and the nodes'."""
    settings = _basics(name, directory, ports[0]) | _hooks(options)
    if options.quick:
        settings["SchedulerParameters"] = QUICK
    if options.gpus:
        settings["GresTypes"] = "gpu"
    if options.memory:
        settings["SelectTypeParameters"] = "CR_CPU_Memory"
    lines = replaced((f"{key}={value}" for key, value in settings.items()), options.lines)
    return "\n".join([*lines, *_nodes(name, ports[1:], options), *_partition(lines)]) + "\n"


def replaced(lines: Iterable[str], by: Iterable[str]) -> list[str]:
    """Return the lines without those whose keys the new lines set, then the new lines."""
    new = list(by)
    keys = {key_of(line) for line in new}.difference(_REPEATABLE)
    return [line for line in lines if key_of(line) not in keys] + new


def _basics(name: str, directory: Path, port: int) -> dict[str, str]:
    user = str(os.geteuid())
    return {
        "ClusterName": name,
        "SlurmctldHost": "localhost(127.0.0.1)",
        "SlurmctldPort": str(port),
        "CommunicationParameters": "NoCtldInAddrAny,NoInAddrAny",  # without authentication: loopback only
        "AuthType": "auth/none",
        "CredType": "cred/none",
        "SlurmUser": user,
        "SlurmdUser": user,
        "StateSaveLocation": f"{directory}/state",
        "SlurmctldPidFile": f"{directory}/slurmctld.pid",
        "SlurmctldLogFile": f"{directory}/slurmctld.log",
        "SlurmdSpoolDir": f"{directory}/%n",
        "SlurmdPidFile": f"{directory}/slurmd.%n.pid",
        "SlurmdLogFile": f"{directory}/slurmd.%n.log",
        "SlurmdParameters": "config_overrides",  # the nodes have as many CPUs as configured here
        "ProctrackType": "proctrack/pgid",
        "TaskPlugin": "task/none",
        "MpiDefault": "none",
        "MailProg": "/bin/true",
        "ReturnToService": "2",
        "SelectType": "select/cons_tres",
        "SelectTypeParameters": "CR_CPU",
        "KillWait": "2",
    }


def _hooks(options: Options) -> dict[str, str]:
    hooks = {"PrologSlurmctld": options.prolog, "TaskProlog": options.task_prolog, "JobCompLoc": options.jobcomp}
    settings = {key: str(path) for key, path in hooks.items() if path is not None}
    if options.jobcomp is not None:
        settings["JobCompType"] = "jobcomp/script"
    if options.job_submit is not None:
        settings["JobSubmitPlugins"] = "lua"
    return settings


def _nodes(name: str, ports: list[int], options: Options) -> list[str]:
    where = "NodeHostname=localhost NodeAddr=127.0.0.1"
    have = f"CPUs={options.cpus}"
    have += f" Gres=gpu:{options.gpus}" if options.gpus else ""
    have += f" RealMemory={options.memory}" if options.memory else ""
    return [f"NodeName={node_name(name, i)} {where} Port={port} {have}" for i, port in enumerate(ports, 1)]


def gres_conf(directory: Path, gpus: int) -> str:
    """Return the gres.conf of nodes with so many GPUs; Slurm wants files, and complains that these are no devices."""
    return f"Name=gpu File={directory}/gpu[0-{gpus - 1}]\n"


def _partition(lines: list[str]) -> list[str]:
    if "partitionname" in map(key_of, lines):
        return []
    return ["PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP"]


def node_name(cluster: str, number: int) -> str:
    """Return the name of a cluster's node; numbers count from 1."""
    return f"{cluster}{number}"
