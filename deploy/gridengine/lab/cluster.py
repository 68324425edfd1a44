"""One real Grid Engine cluster: a qmaster and an execd with their own cell and ports, in an empty folder."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import socket
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar
from xml.etree import ElementTree

from deploy.lab.running import output
from deploy.lab.waiting import wait_for

_T = TypeVar("_T")
PROGRAMS = Path("/usr/lib/gridengine")
_DATA = Path("/usr/share/gridengine")
_DAEMONS = Path("/usr/sbin")
_PROLOG = Path(__file__).parents[1] / "hooks" / "prolog"
_COMMANDS = ("qacct", "qalter", "qconf", "qdel", "qhost", "qmod", "qstat", "qsub")
_FIRST_GROUP, _GROUPS = 65400, 200  # additional group ids, which must differ from those of other clusters
_BOOTSTRAP = """admin_user              root
default_domain          none
ignore_fqdn             true
spooling_method         classic
spooling_lib            libspoolc
spooling_params         {folder}/common;{folder}/spool
binary_path             /usr/sbin
qmaster_spool_dir       {folder}/spool
security_mode           none
listener_threads        2
worker_threads          2
scheduler_threads       1
"""
_QUEUE = {
    "qname": "main.q",
    "hostlist": "{host}",
    "slots": "{slots}",
    "pe_list": "nodes",
    "rerun": "TRUE",
    "shell": "/bin/sh",
    "load_thresholds": "NONE",
}
_PE = """pe_name            nodes
slots              999
user_lists         NONE
xuser_lists        NONE
start_proc_args    NONE
stop_proc_args     NONE
allocation_rule    $fill_up
control_slaves     TRUE
job_is_first_task  FALSE
urgency_slots      min
accounting_summary TRUE
qsort_args         NONE
"""


def is_installed() -> bool:
    """Whether a laboratory can be had: Grid Engine is installed, and we are root."""
    return (_DAEMONS / "sge_qmaster").exists() and (_DAEMONS / "sge_execd").exists() and os.geteuid() == 0


class GridEngineCluster:
    """`with GridEngineCluster(folder, slots) as cluster`: one host with so many slots in the queue main.q.

    `folder` has the commands (`bin`), which know their cluster by themselves, and the jobs' output (`jobs`).
    """

    def __init__(self, folder: Path, slots: int = 4) -> None:
        self.folder, self.slots = folder, slots
        self.bin = folder / "bin"
        self.jobs = folder / "jobs"
        self._root = folder / "root"
        self._cell = self._root / "cell"
        self._daemons: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> GridEngineCluster:
        self.folder.chmod(0o755)
        try:
            self._lay_out()
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._end_jobs()
        for daemon in list(self._daemons):
            self._kill(daemon)

    def _lay_out(self) -> None:
        for made in (self.bin, self.jobs, *(self._cell / name for name in ("common", "spool/job_scripts", "execd"))):
            made.mkdir(parents=True)
        for name in ("bin", "lib", "utilbin", "util"):
            (self._root / name).symlink_to(Path("/var/lib/gridengine") / name)
        self._host = socket.gethostname()
        self._ports = free_port(), free_port()
        exports = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in self.variables.items())
        for command in _COMMANDS:
            wrapper = self.bin / command
            wrapper.write_text(f'#!/bin/sh\n{exports}exec {PROGRAMS / command} "$@"\n')
            wrapper.chmod(0o755)
        common = self._cell / "common"
        (common / "bootstrap").write_text(_BOOTSTRAP.format(folder=self._cell))
        resolved = socket.gethostbyaddr(socket.gethostbyname(self._host))[0]
        (common / "act_qmaster").write_text(f"{resolved}\n")
        (common / "host_aliases").write_text(f"{resolved} {self._host}\n" if resolved != self._host else "")
        self._host = resolved
        self._spool()

    def _spool(self) -> None:
        """Write the cluster's configuration and its first objects."""
        spool = self._cell / "spool"
        first = _FIRST_GROUP + self._ports[0] % 20 * _GROUPS
        changed = {
            "execd_spool_dir": self._cell / "execd",
            "min_uid": 0,
            "min_gid": 0,
            "gid_range": f"{first}-{first + _GROUPS - 1}",
            "load_report_time": "00:00:01",
            "reporting_params": "accounting=true reporting=false flush_time=00:00:01 accounting_flush_time=00:00:00 "
            "joblog=false sharelog=00:00:00",
        }
        lines = (_DATA / "default-configuration").read_text().splitlines()
        kept = [line for line in lines if line.split()[:1] and line.split()[0] not in changed]
        configuration = self.folder / "configuration"
        configuration.write_text("\n".join([*kept, *(f"{key} {value}" for key, value in changed.items()), ""]))
        self._program("spoolinit", "classic", "libspoolc", f"{self._cell}/common;{spool}", "init")
        for what, of in (("configuration", configuration), ("complexes", _DATA / "util/resources/centry"),
                         ("usersets", _DATA / "util/resources/usersets")):  # fmt: skip
            self._program("spooldefaults", what, str(of))
        self._program("spooldefaults", "managers", "root")

    def _program(self, name: str, *arguments: str) -> str:
        return self._checked([str(PROGRAMS / name), *arguments])

    def _start(self) -> None:
        self.start_qmaster()
        for kind in ("h", "s"):
            self.run("qconf", f"-a{kind}", self._host)
        self.start_execd()
        self._add("-Ap", _PE)
        queue = {name: value.format(host=self._host, slots=self.slots) for name, value in _QUEUE.items()}
        self._add("-Aq", self._with(self.run("qconf", "-sq"), queue))
        schedule = {"schedule_interval": "0:0:1", "flush_submit_sec": "1", "flush_finish_sec": "1",
                    "load_adjustment_decay_time": "0:0:0", "job_load_adjustments": "NONE"}  # fmt: skip
        self._add("-Msconf", self._with(self.run("qconf", "-ssconf"), schedule))

        def has_loads() -> bool:
            shown = self.run("qstat", "-f").splitlines()
            return "-NA-" not in next((line for line in shown if line.startswith("main.q@")), "-NA-")

        self.wait_for(has_loads, "its queue to have load values")

    @staticmethod
    def _with(shown: str, changed: dict[str, str]) -> str:
        lines = [line for line in shown.splitlines() if line.split()[:1] and line.split()[0] not in changed]
        return "\n".join([*lines, *(f"{name} {value}" for name, value in changed.items()), ""])

    def _add(self, option: str, text: str) -> None:
        path = self.folder / f"object{option}"
        path.write_text(text)
        self.run("qconf", option, str(path))

    def set_queue(self, attribute: str, value: str) -> None:
        """Change an attribute of the queue."""
        self.run("qconf", "-mattr", "queue", attribute, value, "main.q")

    # Daemons

    def start_qmaster(self) -> None:
        """Start the qmaster, and wait until it answers."""
        self._daemon("sge_qmaster")
        self.wait_for(lambda: self._try("qconf", "-ss").returncode in (0, 1) and self.answers(), "qmaster to answer")

    def start_execd(self) -> None:
        """Start the execd."""
        self._daemon("sge_execd")

    def kill_qmaster(self) -> None:
        """Kill the qmaster by SIGKILL."""
        self._kill("sge_qmaster")

    def kill_execd(self) -> None:
        """Kill the execd by SIGKILL. Jobs and their shepherds live on."""
        self._kill("sge_execd")

    def answers(self) -> bool:
        """Whether the qmaster answers."""
        return self._try("qstat").returncode == 0

    def _daemon(self, name: str) -> None:
        (self._cell / "spool" / "qmaster.pid").unlink(missing_ok=True) if name == "sge_qmaster" else None
        with (self.folder / f"{name}.out").open("ab") as out:
            self._daemons[name] = subprocess.Popen(
                [str(_DAEMONS / name)], env=self._environment | {"SGE_ND": "1"}, stdout=out, stderr=out,
                stdin=subprocess.DEVNULL, cwd=self.folder, start_new_session=True,
            )  # fmt: skip

    def _kill(self, name: str) -> None:
        daemon = self._daemons.pop(name, None)
        if daemon is not None:
            daemon.kill()
            daemon.wait()

    def _end_jobs(self) -> None:
        """Kill what is left of jobs: their processes have this cluster's root in their environment."""
        for path in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                ours = f"SGE_ROOT={self._root}".encode() in (path / "environ").read_bytes().split(b"\0")
                daemons = {daemon.pid for daemon in self._daemons.values()}
                if ours and int(path.name) not in {*daemons, os.getpid()}:
                    os.kill(int(path.name), signal.SIGKILL)

    # Commands

    @property
    def variables(self) -> dict[str, str]:
        """The variables by which commands find the cluster."""
        qmaster, execd = map(str, self._ports)
        return {"SGE_ROOT": str(self._root), "SGE_CELL": "cell", "SGE_QMASTER_PORT": qmaster, "SGE_EXECD_PORT": execd}

    @property
    def _environment(self) -> dict[str, str]:
        return {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C", **self.variables}

    def _try(self, *argv: str, text: str = "") -> subprocess.CompletedProcess[str]:
        program = str(self.bin / argv[0]) if argv[0] in _COMMANDS else argv[0]
        return subprocess.run(
            [program, *argv[1:]], env=self._environment, input=text, capture_output=True, text=True, check=False,
            cwd=self.folder,
        )  # fmt: skip

    def _checked(self, argv: list[str], text: str = "") -> str:
        return output(self._try(*argv, text=text), shlex.join(argv)).strip()

    def run(self, command: str, *arguments: str, text: str = "") -> str:
        """Run one of Grid Engine's commands; return its output. LabError with its message."""
        return self._checked([command, *arguments], text)

    def qsub(self, script: str, *options: str) -> str:
        """Submit the lines of a shell script; return the job's id."""
        output = ("-terse", "-o", str(self.jobs), "-j", "y", "-N", "job", "-wd", str(self.jobs))
        return self.run("qsub", *output, *options, text=f"#!/bin/sh\n{script}\n").partition(".")[0]

    def states(self) -> dict[str, str]:
        """Return the states of the jobs that have not ended, such as qw and r, by id."""
        shown = ElementTree.fromstring(self.run("qstat", "-xml", "-u", "*"))
        return {row.findtext("JB_job_number", ""): row.findtext("state", "") for row in shown.iter("job_list")}

    def spool_of(self, job: str) -> Path:
        """Return the folder of the execd's files of a job that runs."""
        found = list((self._cell / "execd").glob(f"*/active_jobs/{job}.1"))
        return found[0] if found else self._cell

    def has_begun(self, job: str) -> bool:
        """Whether a job that has slots has begun, and does not wait in its prolog."""
        return (self.spool_of(job) / "job_pid").exists()

    def variables_of(self, job: str) -> dict[str, str]:
        """Return the variables of a job that runs."""
        try:
            lines = (self.spool_of(job) / "environment").read_text().splitlines()
        except OSError:
            return {}
        return dict(line.partition("=")[::2] for line in lines)

    def clear(self) -> None:
        """Delete all jobs, and wait until none is left."""
        if jobs := self.states():
            self._try("qdel", *jobs)
        self.wait_for(lambda: not self.states(), "no job to be left")

    def wait_for(self, condition: Callable[[], _T], what: str) -> _T:
        """Return the first true value of `condition`; LabError with the ends of the logs."""
        logs = [self._cell / "spool" / "messages", *self._cell.glob("execd/*/messages"), *self.folder.glob("*.out")]
        return wait_for(condition, f"Grid Engine: {what}", logs=logs, interval=0.05)


def free_port() -> int:
    """Return a port that nobody uses now."""
    with socket.socket() as trial:
        trial.bind(("", 0))
        return int(trial.getsockname()[1])


def install_prolog(cluster: GridEngineCluster, socket: Path) -> None:
    """Install the prolog as the documentation says, for a service at this socket."""
    prolog, epilog = cluster.folder / "prolog", cluster.folder / "epilog"
    shutil.copy(_PROLOG, prolog)
    prolog.chmod(0o755)
    epilog.symlink_to(prolog)
    cluster.set_queue("prolog", f"root@{prolog} {socket} {cluster.bin}")
    cluster.set_queue("epilog", f"root@{epilog} {socket}")
