"""The laboratory's side of its keeper."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any

from deploy.lab.waiting import PATIENCE, LabError, wait_for

_LONGEST_STOP = 60.0  # seconds: a slurmctld was seen once that had closed its port, and never ended
KEEPER = Path(__file__).resolve().with_name("keeper.py")


class Keeping:
    """Starts a keeper for `directory`; it holds the inherited `descriptors` open as long as it lives."""

    def __init__(self, directory: Path, descriptors: Sequence[int] = ()) -> None:
        self._lock = Lock()
        self._detached = False
        with (directory / "keeper.log").open("ab") as log:  # not our stderr: its reader would wait for the keeper's end
            self._keeper = subprocess.Popen(
                [sys.executable, "-I", "-S", str(KEEPER), str(directory)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,  # Ctrl-C is for the laboratory, which then ends its keeper
                pass_fds=descriptors,
                cwd="/",
            )

    def spawn(self, argv: Sequence[str], environment: Mapping[str, str], output: Path) -> int:
        """Start a process in its own session, with its output appended to a file; return its id. LabError."""
        asked = {"do": "spawn", "argv": [*argv], "environment": {**environment}, "output": str(output)}
        return int(self._ask(asked)["pid"])

    def exit_code(self, pid: int) -> int | None:
        """Return how a process ended: its status, or the negative number of the signal; None while it runs."""
        ended = self._ask({"do": "status", "pid": pid})["ended"]
        return None if ended is None else int(ended)

    def send(self, pid: int, number: int) -> None:
        """Send a signal, unless the process has ended."""
        self._ask({"do": "signal", "pid": pid, "signal": int(number)})

    def end(self, pid: int, number: int = signal.SIGKILL) -> None:
        """Send a signal and wait until the process, but not its children, has ended; LabError."""
        self.send(pid, number)
        wait_for(lambda: self.exit_code(pid) is not None, f"the end of process {pid}")

    def stop(self, pid: int, seconds: float = _LONGEST_STOP) -> None:
        """Send SIGTERM, and SIGKILL if the process has not ended after `seconds`, as systemd does; wait for its end."""
        self.send(pid, signal.SIGTERM)
        with suppress(LabError):
            wait_for(lambda: self.exit_code(pid) is not None, f"the end of process {pid}", seconds)
        self.end(pid)

    def detach(self) -> None:
        """Keep the keeper running when this process ends; SIGTERM ends it."""
        self._ask({"do": "detach"})
        self._detached = True
        self._hang_up()

    def close(self) -> None:
        """End all kept processes and the keeper; LabError if some do not end. It may be called again."""
        self._hang_up()
        if self._detached:
            self._keeper.terminate()
        try:
            code = self._keeper.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            raise LabError(f"the keeper {self._keeper.pid} does not end") from None
        if code > 0:
            raise LabError(f"the keeper {self._keeper.pid} could not end all processes")

    def _hang_up(self) -> None:
        for pipe in (self._keeper.stdin, self._keeper.stdout):
            assert pipe is not None
            with suppress(OSError):
                pipe.close()

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self._keeper.stdin is not None
        assert self._keeper.stdout is not None
        try:
            with self._lock:
                self._keeper.stdin.write(json.dumps(request) + "\n")
                self._keeper.stdin.flush()
                line = self._keeper.stdout.readline()
            answer: dict[str, Any] = json.loads(line)
        except (OSError, ValueError):
            raise LabError("the laboratory's keeper is gone") from None
        if "error" in answer:
            raise LabError(str(answer["error"]))
        return answer
