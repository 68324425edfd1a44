"""One real Slurm cluster: its daemons, its commands, its files."""

from __future__ import annotations

import os
import secrets
import shlex
import shutil
import signal
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from deploy.lab.keeping import Keeping
from deploy.lab.processes import with_descendants
from deploy.lab.running import Done, output, run
from deploy.lab.waiting import PATIENCE, LabError, tails, wait_for
from deploy.slurm.lab.configuration import Options, gres_conf, node_name, replaced, slurm_conf
from deploy.slurm.lab.programs import find, search_path

_T = TypeVar("_T")
CONTROLLER = "slurmctld"
_SHOWN = 200  # characters of a command in an error
_LONGEST_STEP = "9999999.4294967291"
_LONGEST_SOCKET = 107  # bytes of a Unix socket's path: each job step has a socket in its node's folder


class PortTakenError(LabError):
    """A daemon found its port taken by another process."""


class Cluster:
    """The cluster `name`, below `directory`; the first of the ports is the controller's, the others the nodes'."""

    def __init__(self, name: str, directory: Path, ports: list[int], options: Options, keeping: Keeping) -> None:
        self.name, self.directory = name, directory
        self.conf = directory / "slurm.conf"
        self.jobs = directory / "jobs"  # jobs are submitted here, so they write here
        self.controller_log = directory / "slurmctld.log"
        self.nodes = [node_name(name, number + 1) for number in range(options.nodes)]
        self._port = ports[0]
        self._keeping = keeping
        self._daemons: dict[str, int] = {}  # process ids of the nodes' daemons, and of the controller
        self._lay_out(slurm_conf(name, directory, ports, options), options)

    def _lay_out(self, conf: str, options: Options) -> None:
        socket = self.directory / self.nodes[-1] / f"{self.nodes[-1]}_{_LONGEST_STEP}"
        if len(os.fsencode(socket)) > _LONGEST_SOCKET:
            raise LabError(f"{socket}: too long for a socket; choose a folder with a shorter path")
        for folder in (self.jobs, self.directory / "state", *(self.directory / node for node in self.nodes)):
            folder.mkdir(parents=True, exist_ok=True)
        if options.job_submit is not None:
            shutil.copyfile(options.job_submit, self.directory / "job_submit.lua")
        for gpu in range(options.gpus):
            (self.directory / f"gpu{gpu}").touch()
        if options.gpus:
            (self.directory / "gres.conf").write_text(gres_conf(self.directory, options.gpus))
        self.conf.write_text(conf)

    @property
    def environment(self) -> dict[str, str]:
        """The environment for this cluster's commands: ours with its SLURM_CONF, without that of a job around us."""
        path = search_path(os.environ.get("PATH", os.defpath))
        return without_slurm(os.environ) | {"PATH": path, "SLURM_CONF": str(self.conf)}

    @property
    def logs(self) -> list[Path]:
        """The logs of the controller and the nodes, and what the daemons have printed."""
        of_nodes = (self.directory / f"slurmd.{node}.log" for node in self.nodes)
        return [self.controller_log, *of_nodes, *sorted(self.directory.glob("*.out"))]

    def node(self, node: str | int) -> str:
        """Return a node's name; numbers count from 1."""
        return node if isinstance(node, str) else self.nodes[node - 1]

    # Commands

    def run(self, *command: str, text: str = "", seconds: float = PATIENCE) -> str:
        """Run a command with `text` as its input; return its output. LabError if it fails or does not end."""
        return output(self.try_run(*command, text=text, seconds=seconds), _shown(command))

    def try_run(self, *command: str, text: str = "", seconds: float = PATIENCE) -> Done:
        """Run a command that may fail; LabError if it does not end."""
        return run(command, _shown(command), seconds, self.logs, input=text, cwd=self.jobs, env=self.environment)

    def sbatch(self, script: str, *options: str) -> int:
        """Submit the lines of a shell script; return the job's id. LabError with sbatch's message."""
        text = script if script.startswith("#!") else f"#!/bin/sh\n{script}\n"
        return int(self.run("sbatch", "--parsable", *options, text=text).partition(";")[0])

    def squeue(self, *options: str) -> str:
        """Return squeue's output."""
        return self.run("squeue", *options)

    def sinfo(self, *options: str) -> str:
        """Return sinfo's output."""
        return self.run("sinfo", *options)

    def scontrol(self, *arguments: str) -> str:
        """Return scontrol's output."""
        return self.run("scontrol", *arguments)

    def scancel(self, *arguments: str | int) -> None:
        """Cancel jobs."""
        self.run("scancel", *map(str, arguments))

    def update(self, job: int, **fields: str | int) -> None:
        """Run `scontrol update jobid=JOB key=value ...`."""
        self.scontrol("update", f"jobid={job}", *(f"{key}={value}" for key, value in fields.items()))

    def job(self, job: int) -> dict[str, str]:
        """Return the fields of `scontrol show job`; LabError if Slurm does not know the job, or no longer."""
        words = self.scontrol("show", "job", "-o", str(job)).split()
        return {key: value for key, equals, value in (word.partition("=") for word in words) if equals}

    def state(self, job: int) -> str:
        """Return the job's state: PENDING, CONFIGURING, RUNNING, COMPLETED, ..."""
        return self.job(job)["JobState"]

    # Waiting

    def wait_for(self, condition: Callable[[], _T], what: str, seconds: float = PATIENCE) -> _T:
        """Return the first true value of `condition`; LabError with the ends of the logs after `seconds`."""
        return wait_for(condition, f"{self.name}: {what}", seconds, self.logs)

    def wait_for_state(self, job: int, *states: str, seconds: float = PATIENCE) -> str:
        """Wait until the job is in one of these states, and return it."""
        what = f"job {job} to be {' or '.join(states)}"
        return self.wait_for(lambda: state if (state := self.state(job)) in states else "", what, seconds)

    def wait_for_no_jobs(self) -> None:
        """Wait until all jobs have ended and all nodes are idle."""
        self.wait_for(lambda: not self.squeue("-h"), "the end of all jobs")
        self.wait_for_nodes()

    def wait_for_nodes(self, state: str = "idle", *nodes: str | int) -> None:
        """Wait until these nodes (none given: all) are in a state, in sinfo's words without suffixes."""
        wanted = {self.node(node) for node in nodes} or set(self.nodes)
        self.wait_for(lambda: wanted <= self._nodes_in(state), f"{', '.join(sorted(wanted))} to be {state}")

    def _nodes_in(self, state: str) -> set[str]:
        words = (line.split() for line in self.try_run("sinfo", "-h", "-N", "-o", "%N %t").stdout.splitlines())
        return {node for node, its in words if its == state}

    def wait_until_saved(self, job: int) -> None:
        """Wait, up to 5 s, until slurmctld has saved the job's present state, so that SIGKILL does not lose it."""
        mark = f"saved-{secrets.token_hex(8)}"
        self.update(job, admincomment=mark)
        state = self.directory / "state" / "job_state"

        def is_saved() -> bool:
            try:
                return mark.encode() in state.read_bytes()
            except FileNotFoundError:  # slurmctld puts another in its place
                return False

        self.wait_for(is_saved, f"job {job} to be saved")

    # Daemons

    def start(self) -> None:
        """Start all daemons and wait until all nodes are idle."""
        self.start_controller()
        for node in self.nodes:
            self._spawn_node(node)
        self.wait_for(self._ready, "all nodes to be idle")

    def start_controller(self) -> None:
        """Start slurmctld and wait until it answers. After a SIGKILL the nodes stay `unk` for some seconds."""
        self._daemons[CONTROLLER] = self._spawn(CONTROLLER, "slurmctld", "-D", "-f", str(self.conf))
        self.wait_for(self._answers, "slurmctld to answer")

    def kill_controller(self) -> None:
        """Kill slurmctld and wait until its port is free."""
        self._keeping.end(self._daemons[CONTROLLER])
        self.wait_for(self._port_is_free, "slurmctld's port")

    def stop_controller(self) -> None:
        """Stop slurmctld properly, so that it saves its state, and wait until its port is free."""
        self._keeping.stop(self._daemons[CONTROLLER])
        self.wait_for(self._port_is_free, "slurmctld's port")

    def stop_unit(self) -> None:
        """Stop slurmctld properly, and its scripts and hooks too, as systemd stops a unit by default."""
        main = self._daemons[CONTROLLER]
        for process in with_descendants(lambda process: process.pid == main):
            with suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGTERM)
        self.stop_controller()

    def start_node(self, node: str | int) -> None:
        """Start a node's slurmd and wait until the controller counts it as usable."""
        self._spawn_node(self.node(node))
        self.wait_for(lambda: self._usable(self.node(node)), f"{self.node(node)} to be usable")

    def kill_node(self, node: str | int) -> None:
        """Kill a node's slurmd and wait for its end; the node's steps keep running, as in a real failure."""
        self._keeping.end(self._daemons[self.node(node)])

    def down_node(self, node: str | int) -> None:
        """Make Slurm count a node as down and drained: newer Slurms would else use it again by themselves."""
        for state in ("drain", "down"):
            self.scontrol("update", f"nodename={self.node(node)}", f"state={state}", "reason=lab")

    def resume_node(self, node: str | int) -> None:
        """Make Slurm use a node again."""
        self.scontrol("update", f"nodename={self.node(node)}", "state=resume")

    def pid(self, daemon: str | int = CONTROLLER) -> int:
        """Return the process id of slurmctld, or of a node's slurmd."""
        return self._daemons[CONTROLLER if daemon == CONTROLLER else self.node(daemon)]

    def _spawn_node(self, node: str) -> None:
        self._daemons[node] = self._spawn(node, "slurmd", "-D", "-N", node, "-f", str(self.conf))

    def _spawn(self, daemon: str, program: str, *options: str) -> int:
        environment = {"PATH": search_path(), "SLURM_CONF": str(self.conf)}
        return self._keeping.spawn([find(program) or program, *options], environment, self.directory / f"{daemon}.out")

    def _port_is_free(self) -> bool:
        """Whether the controller's port is free. A helper of slurmctld may keep it for a second after a SIGKILL."""
        with socket.socket() as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                trial.bind(("127.0.0.1", self._port))
                trial.listen()
            except OSError:
                return False
        return True

    def _answers(self) -> bool:
        self.check()
        return " is UP" in self.try_run("scontrol", "ping").stdout

    def _ready(self) -> bool:
        self.check()
        return self._nodes_in("idle") == set(self.nodes)

    def _usable(self, node: str) -> bool:
        self.check()
        return any(node in self._nodes_in(state) for state in ("idle", "alloc", "mix"))

    def check(self) -> None:
        """Raise LabError if a daemon that should run has ended by itself."""
        for daemon, pid in self._daemons.items():
            code = self._keeping.exit_code(pid)
            if code is not None and code >= 0:
                raise self._ended(daemon, code)

    def _ended(self, daemon: str, code: int) -> LabError:
        said = tails([self.directory / f"{daemon}.out"])
        kind = PortTakenError if "Address already in use" in said else LabError
        return kind(f"{self.name}: {daemon} ended with status {code}{said}")

    # Configuration

    def configure(self, **settings: str | Path | int | None) -> None:
        """Set parameters of slurm.conf (None: remove them). `reconfigure` or a restart makes Slurm read them."""
        lines = replaced(self.conf.read_text().splitlines(), (f"{key}={value}" for key, value in settings.items()))
        kept = (line for line in lines if not line.endswith("=None"))
        self.rewrite("\n".join(kept) + "\n")

    def rewrite(self, text: str) -> None:
        """Replace slurm.conf as a whole: a daemon that is still reconfiguring sees the old one or the new one."""
        aside = self.conf.with_name("slurm.conf.new")
        aside.write_text(text)
        aside.replace(self.conf)

    def reconfigure(self) -> None:
        """Run `scontrol reconfigure`, and wait until slurmctld answers: newer Slurms restart it."""
        self.wait_for(lambda: self.try_run("scontrol", "reconfigure").returncode == 0, "a reconfiguration")
        self.wait_for(self._answers, "slurmctld to answer")


def without_slurm(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without the variables of Slurm, of its jobs and of its users' settings."""
    return {k: v for k, v in environment.items() if not k.startswith(("SLURM", "SBATCH", "SALLOC", "SQUEUE"))}


def clear(*clusters: Cluster) -> None:
    """Cancel all jobs, and wait until none is left and all nodes are idle."""
    for cluster in clusters:
        cluster.scancel("--quiet", "--partition=main")
    for cluster in clusters:
        cluster.wait_for_no_jobs()


def _shown(command: tuple[str, ...]) -> str:
    text = shlex.join(command)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
