"""Commands of batch systems that print what was recorded of them, of as many jobs as are wanted, all of pairs."""

from __future__ import annotations

import json
import os
import pwd
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from cosched_adapters.slurm.commands import _DETAILS, _WIDTHS

TIMES = {"poll_interval": 5, "try_patience": 0.5}  # seconds
ENDS = 10  # jobs that end in a step, as many as come
OWNER = pwd.getpwuid(os.getuid()).pw_name
TESTS = Path(__file__).resolve().parents[2]
RECORDED = {kind: TESTS / "adapters" / kind / "recorded" for kind in ("slurm", "pbs")}
LINE = "=" * 62 + "\n"
SQUEUE = """case " $* " in
*" -j "*) exec awk -v ids="$7" 'BEGIN { split(ids, all, ","); for (n in all) wanted[all[n]] } $1 in wanted' details ;;
*) exec cat queue ;;
esac"""
QSTAT = """for last; do :; done
case " $* " in
*" -x "*) cat "jobs/$last" 2>/dev/null || exec cat queue ;;
*) exec cat queue ;;
esac"""


QSTAT_OF_GRIDENGINE = """case " $* " in
*" -xml "*) exec cat states ;;
*" -g "*) exec cat slots ;;
*" * "*) exec cat queue ;;
*) cat "jobs/$2" 2>/dev/null || { echo "Following jobs do not exist:"; exit 1; } ;;
esac"""


class Fake:
    """One batch system: jobs by number, and whether they wait ("Q"), run ("R") or have ended ("F")."""

    kind: str
    commands: ClassVar[Mapping[str, str]]

    def __init__(self, folder: Path, running: int, queued: int) -> None:
        self.folder = folder / "bin"
        self.folder.mkdir()
        for name, script in self.commands.items():
            (self.folder / name).write_text(f"#!/bin/sh\ncd {self.folder}\n{script}\n")
            (self.folder / name).chmod(0o755)
        self.now = int(time.time())
        self.states: dict[int, str] = {}
        self.submitted: dict[int, int] = {}
        self.since: dict[int, int] = {}  # when each was submitted, or started
        for number in range(1, running + queued + 1):
            self._submit(number, "R" if number <= running else "Q")
        self.write()

    @property
    def settings(self) -> dict[str, Any]:
        """The section [manager]."""
        return {"kind": self.kind, "bin": str(self.folder), "hook_socket": str(self.folder / "hooks"), **TIMES}

    def step(self) -> None:
        """A second later: some jobs have come, others have started, and others have ended."""
        self.now += 1
        running = [number for number, state in self.states.items() if state == "R"]
        queued = [number for number, state in self.states.items() if state == "Q"]
        for number in running[:ENDS]:
            self.states[number] = "F"
        for number in queued[:ENDS]:
            self.states[number], self.since[number] = "R", self.now
        last = max(self.states)
        for number in range(last + 1, last + 1 + ENDS):
            self._submit(number, "Q")
        self.write()

    def _submit(self, number: int, state: str) -> None:
        self.states[number] = state
        self.submitted[number] = self.since[number] = self.now

    def write(self) -> None:
        """Write what the commands print."""
        raise NotImplementedError

    def _put(self, name: str, printed: str) -> None:
        """Readers see all of it, or what was there before."""
        (self.folder / f"{name}.new").write_text(printed)
        (self.folder / f"{name}.new").rename(self.folder / name)


class FakeSlurm(Fake):
    """Slurm."""

    kind = "slurm"
    commands: ClassVar = {
        "squeue": SQUEUE, "scontrol": 'case "$*" in "show config") exec cat config ;; esac', "scancel": "",
        "sbatch": "", "sinfo": "for node in $(seq 2000); do echo n$node; done",
    }  # fmt: skip

    def write(self) -> None:
        self._put("config", (RECORDED["slurm"] / "config.txt").read_text())
        rows = [self._row(number, state) for number, state in self.states.items()]
        for name, widths in (("queue", _WIDTHS), ("details", _WIDTHS | _DETAILS)):
            self._put(name, "".join("".join(f"{row[f]:<{w}}" for f, w in widths.items()) + "\n" for row in rows))

    def _row(self, number: int, state: str) -> dict[str, str]:
        long = {"Q": "PENDING", "R": "RUNNING", "F": "COMPLETED"}[state]
        times = dict.fromkeys(("SubmitTime", "EligibleTime"), self.submitted[number])
        times |= {"StartTime": self.since[number], "EndTime": self.now} if state != "Q" else {}
        return dict.fromkeys(_WIDTHS | _DETAILS, "N/A") | {
            "JobID": str(number), "ArrayJobID": str(number), "State": long, "NumNodes": "1", "RestartCnt": "0",
            "Reason": "Priority" if state == "Q" else "None", "Requeue": "1", "BatchFlag": "1", "UserName": OWNER,
            "exit_code": "0", "PriorityLong": str(10**9 - number), "Partition": "batch", "TimeLimit": "1:00:00",
            "Name": "job", "Comment": f"cosched:pair=pair{number}", **{name: str(at) for name, at in times.items()},
        }  # fmt: skip


class FakePbs(Fake):
    """PBS."""

    kind = "pbs"
    commands: ClassVar = {
        "qstat": QSTAT, "pbsnodes": "exec cat nodes", "qrun": "", "qdel": "", "qrerun": "", "qalter": "",
        "qmgr": "printf 'Server mira\\n    scheduling = False\\n'",
    }  # fmt: skip

    def write(self) -> None:
        (self.folder / "jobs").mkdir(exist_ok=True)
        self._put("nodes", (RECORDED["pbs"] / "nodes.json").read_text())
        empty = json.loads((RECORDED["pbs"] / "empty.json").read_text())
        for number in [number for number, state in self.states.items() if state == "F"][-ENDS:]:
            self._put(f"jobs/{number}", json.dumps(empty | {"Jobs": dict([self._job(number, "F")])}))
        jobs = dict(self._job(number, state) for number, state in self.states.items() if state != "F")
        self._put("queue", json.dumps(empty | {"Jobs": jobs}, indent="\t"))

    def _job(self, number: int, state: str) -> tuple[str, dict[str, Any]]:
        job = dict(_recorded_job())
        job["Job_Owner"] = f"{OWNER}@mira"
        job["Resource_List"] = job["Resource_List"] | {"pair": f"pair{number}"}
        job["job_state"] = state
        if state != "Q":
            job |= {"exec_vnode": f"(mira{number % 9}:ncpus=1)", "stime": time.ctime(self.since[number])}
        if state == "F":
            job |= {"obittime": time.ctime(self.now), "Exit_status": 0}
        return f"{number}.mira", job


class FakeGridEngine(Fake):
    """Grid Engine. A job that has ended is in its accounting alone."""

    kind = "gridengine"
    commands: ClassVar = {
        "qstat": QSTAT_OF_GRIDENGINE, "qacct": 'exec cat "ends/$2"', "qalter": "", "qdel": "", "qmod": "", "qsub": "",
    }  # fmt: skip

    def write(self) -> None:
        for folder in ("jobs", "ends"):
            (self.folder / folder).mkdir(exist_ok=True)
        self._put("slots", "CLUSTER QUEUE CQLOAD USED RES AVAIL TOTAL aoACDS cdsuE\nmain.q 0.1 0 0 2000 2000 0 0\n")
        for number in [number for number, state in self.states.items() if state == "F"][-ENDS:]:
            times = f"start_time {time.ctime(self.since[number])}\nend_time {time.ctime(self.now)}\n"
            self._put(f"ends/{number}", f"{LINE}failed 0\nexit_status 0\n{times}")
        there = {number: state for number, state in self.states.items() if state != "F"}
        rows = "".join(self._row(number, state) for number, state in there.items())
        self._put("states", f"<?xml version='1.0'?>\n<job_info><queue_info>{rows}</queue_info></job_info>\n")
        self._put("queue", "".join(self._details(number) for number in there))

    def _row(self, number: int, state: str) -> str:
        shown = {"JB_job_number": number, "state": {"Q": "qw", "R": "r"}[state], "slots": 1}
        shown |= {"JAT_start_time": time.strftime("%FT%T", time.localtime(self.since[number]))} if state == "R" else {}
        inside = "".join(f"<{name}>{value}</{name}>" for name, value in shown.items())
        return f'<job_list state="{"pending" if state == "Q" else "running"}">{inside}</job_list>\n'

    def _details(self, number: int) -> str:
        return (
            f"{LINE}job_number: {number}\nsubmission_time: {time.ctime(self.submitted[number])}\nowner: {OWNER}\n"
            f"account: sge\nhard resource_list: h_rt=3600\njob_name: job\ncontext: pair=pair{number}\n"
        )


def _recorded_job() -> Mapping[str, Any]:
    if not _JOB:
        _JOB.update(json.loads((RECORDED["pbs"] / "queue.json").read_text())["Jobs"]["0.mira"])
    return _JOB


_JOB: dict[str, Any] = {}
FAKES: Mapping[str, Callable[[Path, int, int], Fake]] = {
    "beside Slurm": FakeSlurm, "beside PBS": FakePbs, "beside Grid Engine": FakeGridEngine,
}  # fmt: skip
