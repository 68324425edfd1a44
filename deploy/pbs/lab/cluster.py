"""One real OpenPBS cluster: a server with its database, a scheduler, and a MoM that stands for several nodes."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from deploy.lab.running import Done, output
from deploy.lab.waiting import LabError, wait_for
from deploy.pbs.lab.namespace import STATE, Namespace

_T = TypeVar("_T")
PREFIX = "COSCHED_LAB_PBS"  # environment variable: where OpenPBS is installed, instead of /opt/pbs
_COMMANDS = (
    *("qalter", "qdel", "qhold", "qmgr", "qmove", "qrerun", "qrls", "qrun", "qstat", "qsub"),
    *("pbsnodes", "pbs_python"),
)
_WRAPPER = """#!/bin/sh
export PBS_CONF_FILE={conf}
exec nsenter -t {init} --net --uts --ipc --pid --mount -- /bin/sh -c 'cd "$0" && exec "$@"' "$PWD" {program} "$@"
"""
_CONF = """PBS_EXEC={prefix}
PBS_HOME={state}
PBS_SERVER={name}
PBS_START_SERVER=1
PBS_START_SCHED=1
PBS_START_COMM=1
PBS_START_MOM=1
PBS_DATA_SERVICE_USER=postgres
PBS_LOG_HIGHRES_TIMESTAMP=1
"""
_TAKEN = "Job with requested ID already exists"  # a server that was killed gives ids that it has given before
_SERVER = """set server job_history_enable = true
set server acl_roots = root
set server flatuid = true
"""


def prefix() -> Path:
    """Return where OpenPBS is installed, if it is."""
    return Path(os.environ.get(PREFIX, "/opt/pbs"))


def is_installed() -> bool:
    """Whether a laboratory can be had: OpenPBS is installed, and we may make namespaces."""
    return (prefix() / "sbin" / "pbs_server").exists() and os.geteuid() == 0


class PbsCluster:
    """`with PbsCluster(name, folder, nodes) as cluster`: a cluster of nodes `NAME1`, `NAME2`, ... of one processor.

    `folder` has the commands (`bin`), for use from outside, and the jobs' output (`jobs`).
    """

    def __init__(self, name: str, folder: Path, nodes: int = 4) -> None:
        self.name, self.folder = name, folder
        self.nodes = [f"{name}{number + 1}" for number in range(nodes)]
        self.bin = folder / "bin"
        self.jobs = folder / "jobs"
        self._conf = folder / "pbs.conf"
        self._world: Namespace

    def __enter__(self) -> PbsCluster:
        self.bin.mkdir(parents=True)
        self.jobs.mkdir()
        self._conf.write_text(_CONF.format(prefix=prefix(), state=STATE, name=self.name))
        self._world = Namespace(self.name, self.folder)
        try:
            self._start()
        except BaseException:
            self._world.end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._world.end()

    def _start(self) -> None:
        for command in _COMMANDS:
            wrapper = self.bin / command
            program = prefix() / "bin" / command
            wrapper.write_text(_WRAPPER.format(conf=self._conf, init=self._world.init, program=program))
            wrapper.chmod(0o755)
        self._inside(str(prefix() / "libexec" / "pbs_habitat"))
        for daemon in ("pbs_comm", "pbs_mom", "pbs_sched"):
            self.daemon(daemon)
        self.start_server()
        self.qmgr(*_SERVER.splitlines())
        self._lay_out_nodes()

    def _lay_out_nodes(self) -> None:
        """One MoM stands for all nodes. Its own vnode has no processors, so that no job comes there."""
        layout = self.folder / "vnodes"
        lines = [f"{node}: resources_available.ncpus=1\n{node}: sharing=default_excl" for node in self.nodes]
        layout.write_text("\n".join(["$configversion 2", f"{self.name}: resources_available.ncpus=0", *lines, ""]))
        self._inside(str(prefix() / "sbin" / "pbs_mom"), "-s", "insert", "nodes", str(layout))
        self._inside("pkill", "-HUP", "pbs_mom")
        self.wait_for(lambda: self.states() == dict.fromkeys(self.nodes, "free"), "all nodes to be free")

    # Daemons

    def daemon(self, name: str) -> None:
        """Start a daemon."""
        self._inside(str(prefix() / "sbin" / name))

    def start_server(self) -> None:
        """Start pbs_server, with its database, and wait until it answers."""
        self.daemon("pbs_server")
        self.wait_for(lambda: self._try("qstat", "-B").returncode == 0, "pbs_server to answer")

    def kill_server(self) -> None:
        """Kill pbs_server by SIGKILL."""
        self._inside("pkill", "-9", "-f", "sbin/pbs_server")
        self.wait_for(lambda: self._world.run("pgrep", "-f", "sbin/pbs_server", environment={}).returncode, "its end")

    def kill_mom(self) -> None:
        """Kill the MoM by SIGKILL, and wait until the server sees its nodes as down."""
        self._inside("pkill", "-9", "-f", "sbin/pbs_mom")
        self.wait_for(lambda: all("down" in state for state in self.states().values()), "the nodes to be down")

    def revive_mom(self) -> None:
        """Start the MoM again, and wait until the server sees no node as down."""
        self.daemon("pbs_mom")
        self.wait_for(lambda: not any("down" in state for state in self.states().values()), "the nodes to be up")

    def shell(self, lines: str, folder: Path) -> str:
        """Run lines of a shell as root on the server's host, in a folder; return their output. LabError."""
        return self._inside("sh", "-ec", f"cd {shlex.quote(str(folder))}\n{lines}")

    def _inside(self, *command: str) -> str:
        done = self._world.run(*command, environment=self._environment)
        return output(done, f"{self.name}: {shlex.join(command)}")

    @property
    def _environment(self) -> dict[str, str]:
        path = f"{prefix()}/bin:{prefix()}/sbin:/usr/sbin:/usr/bin:/sbin:/bin"
        return {"PATH": path, "PBS_CONF_FILE": str(self._conf), "HOME": "/root", "LC_ALL": "C"}

    # Commands

    def _try(self, command: str, *arguments: str, text: str = "") -> Done:
        return self._world.run(str(prefix() / "bin" / command), *arguments, environment=self._environment, text=text)

    def run(self, command: str, *arguments: str, text: str = "") -> str:
        """Run one of PBS's commands; return its output. LabError with its message."""
        return output(self._try(command, *arguments, text=text), f"{command} {shlex.join(arguments)}")

    def qmgr(self, *lines: str) -> str:
        """Run lines of qmgr."""
        return self.run("qmgr", text="\n".join(lines) + "\n")

    def qsub(self, script: str, *options: str) -> str:
        """Submit the lines of a shell script; return the job's id. LabError with qsub's message."""
        output = ("-o", str(self.jobs), "-j", "oe")  # of a repeated option the last counts
        while True:
            try:
                return self.run("qsub", *output, *options, text=f"#!/bin/sh\n{script}\n").strip()
            except LabError as error:
                if _TAKEN not in str(error):
                    raise

    def job(self, job: str) -> dict[str, Any]:
        """Return what `qstat -x -f` shows of a job, also of one that has ended."""
        found: dict[str, Any] = json.loads(self.run("qstat", "-x", "-f", "-F", "json", job))["Jobs"][job]
        return found

    def states(self) -> dict[str, str]:
        """Return the states of the nodes."""
        return {name: node["state"] for name, node in self._shown_nodes().items()}

    def holders(self) -> dict[str, str]:
        """Return for whom nodes are held, by cosched's notes on them."""
        shown = self._shown_nodes().items()
        return {name: held for name, node in shown if (held := node["resources_available"].get("cosched_holder"))}

    def _shown_nodes(self) -> dict[str, dict[str, Any]]:
        """Return what pbsnodes shows of the nodes; nothing if the server does not answer."""
        done = self._try("pbsnodes", "-a", "-v", "-F", "json")
        found = json.loads(done.stdout)["nodes"] if done.returncode == 0 else {}
        return {name: node for name, node in found.items() if name in self.nodes}

    def wait_for(self, condition: Callable[[], _T], what: str) -> _T:
        """Return the first true value of `condition`; LabError with the end of the server's log."""
        return wait_for(condition, f"{self.name}: {what}", logs=sorted(self.path("server_logs").glob("*")))

    def wait_for_state(self, job: str, *states: str) -> str:
        """Wait until the job is in one of these states (Q, R, F, ...), and return it."""
        what = f"job {job} to be {' or '.join(states)}"
        return self.wait_for(lambda: now if (now := self.job(job)["job_state"]) in states else "", what)

    def path(self, name: str) -> Path:
        """Return the path, as seen from outside, of a file of the daemons."""
        return self._world.path(STATE / name)
