"""A PBS server that answers as was recorded of OpenPBS 23.06.06, and runs cosched's hook: for hosts without OpenPBS.

Its jobs and nodes are the recorded ones with other numbers and states. What it does between two commands is our idea of
PBS; so the real one, where it is installed, is asked as well.
"""

from __future__ import annotations

import asyncio
import copy
import itertools
import json
import re
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from cosched_adapters.programs import Failure
from tests.adapters.pbs.hook_events import Hook
from tests.adapters.pbs.hook_events import Job as Told

RECORDED = Path(__file__).resolve().parents[1] / "adapters" / "pbs" / "recorded"
Answer = tuple[int, bytes]  # exit code and output, that of errors if the code is not 0
_UNKNOWN, _FINISHED, _FAILED = 153, 35, 1


def _read(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RECORDED / name).read_text())
    return found


def _error(code: int, name: str) -> Answer:
    return code, (RECORDED / f"{name}.err").read_bytes()


class RecordedServer:
    """`folder` has the hook's configuration and the service's socket. One request is handled at a time."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch, nodes: int) -> None:
        self.socket = folder / "socket"
        self.hook = Hook(folder, patch, socket=str(self.socket), domain="mira", peers=[], patience=3600)
        self.jobs: dict[str, dict[str, Any]] = {}
        self.variables: dict[str, dict[str, str]] = {}  # those that the hook has added, by job
        self.up = True
        self.down: set[str] = set()  # nodes
        self.offline: set[str] = set()
        self._nodes = _read("nodes.json")
        for node in self._nodes["nodes"].values():
            node["resources_available"].pop("cosched_holder", None)
        self.names = [name for name in self._nodes["nodes"] if name != "mira"][:nodes]
        self._numbers = itertools.count()
        self._seconds: dict[str, float] = {}
        self._ends: dict[str, asyncio.TimerHandle] = {}
        self._locks: dict[asyncio.AbstractEventLoop, asyncio.Lock] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    # For tests

    async def submit(
        self, nodes: int, seconds: float, mate: Mapping[str, str], account: str = "", *, held: bool = False
    ) -> str:
        number = str(next(self._numbers))
        job = copy.deepcopy(_read("queue.json")["Jobs"]["0.mira"])
        resources = job["Resource_List"] | {"ncpus": nodes, "nodect": nodes, "select": f"{nodes}:ncpus=1"}
        resources.pop("pair")
        job["Resource_List"] = resources | mate
        job |= {"Account_Name": account} if account else {}
        job["job_state"] = "H" if held else "Q"
        job["ctime"] = job["qtime"] = job["etime"] = time.ctime()
        async with self._one:
            assert await asyncio.to_thread(self.hook.run, "QUEUEJOB", Told(job["Resource_List"])) is None
            self.jobs[number], self._seconds[number] = job, seconds
        self.schedule_soon()
        return number

    async def requeue(self, number: str) -> None:
        await self.command(["qrerun", number])

    @property
    def _one(self) -> asyncio.Lock:
        """One request at a time; each test has a loop of its own."""
        return self._locks.setdefault(asyncio.get_running_loop(), asyncio.Lock())

    @property
    def free(self) -> list[str]:
        return [name for name in self.names if self._state(name) == "free"]

    async def settle(self) -> None:
        """Wait until nothing is under way."""
        while self._tasks:
            await asyncio.gather(*self._tasks)

    # Commands

    async def command(self, argv: Sequence[str]) -> Answer:
        """Answer a command."""
        if not self.up:
            return _error(_FAILED, "qrun-silent" if argv[0] == "qrun" else "qstat-silent")
        async with self._one:
            do: Callable[..., Any] = getattr(self, f"_{argv[0]}")
            answer: Answer = await do(*argv[1:])
            return answer

    async def _qstat(self, *words: str) -> Answer:
        if "-B" in words:
            return 0, (RECORDED / "server.json").read_bytes()
        numbers = [word for word in words if word.isdecimal()]
        history = "-x" in words
        shown = {f"{n}.mira": job for n, job in self.jobs.items() if history or job["job_state"] != "F"}
        if numbers:
            shown = {f"{n}.mira": self.jobs[n] for n in numbers if n in self.jobs}
        printed = _read("empty.json") | ({"Jobs": shown} if shown else {})
        return _UNKNOWN if len(shown) < len(numbers) else 0, json.dumps(printed).encode()

    async def _pbsnodes(self, *_: str) -> Answer:
        for name in self.names:
            self._nodes["nodes"][name]["state"] = self._state(name)
        return 0, json.dumps(self._nodes).encode()

    def _state(self, name: str) -> str:
        busy = any(job["job_state"] == "R" and f"({name}:" in job["exec_vnode"] for job in self.jobs.values())
        states = {"down": name in self.down, "offline": name in self.offline, "job-exclusive": busy}
        return ",".join(state for state, so in states.items() if so) or "free"

    async def _qrun(self, _: str, vnodes: str, number: str) -> Answer:
        job = self.jobs.get(number)
        if job is None:
            return _error(_UNKNOWN, "qrun-unknown")
        wanted = re.findall(r"\((\w+):", vnodes)
        if job["job_state"] != "Q" or any(self._state(name) not in ("free", "offline") for name in wanted):
            return _error(_FAILED, "qrun-busy")
        why = await self._asked(number, vnodes, "root@mira")
        if why is not None:
            return _FAILED, f"qrun: {why} {number}.mira".encode()
        self._run(number, vnodes)
        return 0, b""

    async def _qdel(self, number: str) -> Answer:
        job = self.jobs.get(number)
        if job is None:
            return _error(_UNKNOWN, "qrun-unknown")
        if job["job_state"] == "F":
            return _error(_FINISHED, "qdel-finished")
        self._end(number, _read("history.json")["Jobs"]["7.mira" if job["job_state"] == "R" else "8.mira"])
        return 0, b""

    async def _qrerun(self, number: str) -> Answer:
        job = self.jobs[number]
        self._ends.pop(number).cancel()
        for key in ("exec_vnode", "stime"):
            del job[key]
        job.update(job_state="Q", substate=10, qtime=time.ctime())
        self.schedule_soon()
        return 0, b""

    async def _qalter(self, *words: str) -> Answer:
        changes = dict(word.removeprefix("-l").split("=", 1) for word in words[:-1])
        job = self.jobs[words[-1]]
        why = await asyncio.to_thread(
            self.hook.run, "MODIFYJOB", Told(changes, id=f"{words[-1]}.mira"), Told(job["Resource_List"])
        )
        if why is not None:
            return _FAILED, f"qalter: {why}".encode()
        resources = {**job["Resource_List"], **changes}
        job["Resource_List"] = {name: value for name, value in resources.items() if value != ""}
        return 0, b""

    async def _qmgr(self, _: str, line: str) -> Answer:
        if line.startswith("list server"):
            return 0, b"Server mira\n    scheduling = True\n\n"
        if line == "set server scheduling = true":
            self.schedule_soon()
            return 0, b""
        names = line.split()[2].split(",")
        if "state += offline" in line:
            self.offline |= set(names)
        if "state -= offline" in line:
            self.offline -= set(names)
        holder = re.search(r'cosched_holder *= *"(.*?)"', line)
        for name in names:
            available = self._nodes["nodes"][name]["resources_available"]
            if holder is not None:
                available["cosched_holder"] = holder[1]
            elif line.startswith("unset"):
                available.pop("cosched_holder", None)
        return 0, b""

    # What it does by itself

    def schedule_soon(self) -> None:
        """Begin a cycle after the present request."""
        self._later(self._schedule())

    def _later(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _schedule(self) -> None:
        async with self._one:
            for number, job in self.jobs.items():
                nodes = self.free[: job["Resource_List"]["nodect"]]
                if job["job_state"] != "Q" or len(nodes) < job["Resource_List"]["nodect"]:
                    continue
                vnodes = "+".join(f"({name}:ncpus=1)" for name in nodes)
                why = await self._asked(number, vnodes, "Scheduler")
                if why is None:
                    self._run(number, vnodes)
                else:
                    job["comment"] = f"Not Running: PBS Error: {why}"

    async def _asked(self, number: str, vnodes: str, requestor: str) -> str | None:
        job = self.jobs[number]
        told = Told(job["Resource_List"], id=f"{number}.mira", exec_vnode=vnodes, euser="root", Job_Name="STDIN")
        told.__dict__ |= {"Account_Name": job.get("Account_Name"), "project": job["project"]}
        why = await asyncio.to_thread(self.hook.run, "RUNJOB", told, requestor=requestor)
        self.variables[number] = {name: re.sub(r"\\(.)", r"\1", value) for name, value in told.Variable_List.items()}
        return why

    def _run(self, number: str, vnodes: str) -> None:
        ran = _read("history.json")["Jobs"]["1.mira"]
        self.jobs[number] |= {key: ran[key] for key in ("job_state", "substate", "session_id", "run_count")}
        self.jobs[number] |= {"exec_vnode": vnodes, "stime": time.ctime()}
        loop = asyncio.get_running_loop()
        ended = _read("history.json")["Jobs"]["4.mira"] | {"Exit_status": 0, "substate": 92}
        self._ends[number] = loop.call_later(self._seconds[number], self._end, number, ended)

    def _end(self, number: str, recorded: dict[str, Any]) -> None:
        if (timer := self._ends.pop(number, None)) is not None:
            timer.cancel()
        for key in ("job_state", "substate", "Exit_status"):
            if key in recorded:
                self.jobs[number][key] = recorded[key]
        if "stime" in self.jobs[number]:
            self.jobs[number]["obittime"] = time.ctime()
            self._later(self._tell_end(number))
        self.jobs[number]["history_timestamp"] = int(time.time())
        self.schedule_soon()

    async def _tell_end(self, number: str) -> None:
        async with self._one:
            await asyncio.to_thread(self.hook.run, "JOBOBIT", Told(id=f"{number}.mira"))


class RecordedPrograms:
    """Stands for `cosched_adapters.programs.Programs`: the commands reach that server."""

    def __init__(self, server: RecordedServer) -> None:
        self._server = server

    async def run(self, argv: Sequence[str], failure: Failure, fine: Collection[int] = (0,)) -> bytes:
        code, printed = await self._server.command(argv)
        if code not in fine:
            raise failure(argv[0], code, printed)
        return printed
