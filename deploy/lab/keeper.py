"""Keeps the processes of one laboratory: `python keeper.py DIR` starts and reaps them, and ends them all when it ends.

Requests are lines of JSON on standard input; each gets an answer of one line on standard output (see `Keeping`).
It is the parent of the daemons. As a child subreaper it becomes the parent of everything that they leave behind: job
steps, users' processes, scripts. So nothing outlives it, whatever a process does to its session, environment or name.
No signal reaches a wrong process, since a child's id is not reused before its parent has waited for the child.

It ends at SIGTERM and, unless it has been detached, when its standard input ends, which happens whenever its starter
dies. It uses only the standard library and is run by its path, so that it starts fast.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import sys
import time
from typing import Any, NoReturn

_PR_SET_CHILD_SUBREAPER = 36
_LAST_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_PATIENCE = 30.0  # seconds for a killed process to end: only an uninterruptible system call takes longer


class Keeper:
    """The children, including those that have ended."""

    def __init__(self) -> None:
        self._ended: dict[int, int] = {}  # by process id, until the id is reused
        signal.signal(signal.SIGCHLD, self._reap)

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Carry out a request: spawn, signal, status or detach."""
        match request["do"]:
            case "spawn":
                return self._spawn(request["argv"], request["environment"], request["output"])
            case "signal":
                return self._signal(request["pid"], request["signal"])
            case "status":
                return {"ended": self._ended.get(request["pid"])}
            case "detach":
                return {"detached": True}
            case other:
                return {"error": f"unknown request {other!r}"}

    def _spawn(self, argv: list[str], environment: dict[str, str], output: str) -> dict[str, Any]:
        appending = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        files = [
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, output, appending, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ]
        # A child that ends at once must not be reaped before the entry of an earlier child with its id is removed.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
        try:
            pid = os.posix_spawnp(argv[0], argv, environment, file_actions=files, setsid=True, setsigmask=before)
            self._ended.pop(pid, None)
        except OSError as error:
            return {"error": f"{argv[0]}: {error.strerror}"}
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return {"pid": pid}

    def _signal(self, pid: int, number: int) -> dict[str, Any]:
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])  # no reaping before the signal
        try:
            if pid not in self._ended:
                os.kill(pid, number)
            return {"ended": self._ended.get(pid)}
        except OSError as error:
            return {"error": error.strerror}
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _reap(self, *_: object) -> None:
        while ended := _ended_child():
            self._ended[ended[0]] = ended[1]


def _ended_child() -> tuple[int, int] | None:
    try:
        pid, status = os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return None
    return (pid, os.waitstatus_to_exitcode(status)) if pid else None


def _children() -> list[int]:
    me = str(os.getpid())
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and _parent(name) == me]


def _parent(pid: str) -> str | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[1].decode()  # the name before it may hold any character
    except (OSError, IndexError):
        return None


def _end_all() -> bool:
    """Kill all children, and the processes that they leave, until there are none; False if some do not end."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    patience_over = time.monotonic() + _PATIENCE
    while time.monotonic() < patience_over:
        for pid in _children():
            with contextlib.suppress(OSError):  # a set-user-id program of another user
                os.kill(pid, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return True
        time.sleep(0.005)
    return False


def _serve(keeper: Keeper) -> None:
    detached = False
    for line in sys.stdin:
        answer = keeper.answer(json.loads(line))
        detached = detached or "detached" in answer
        print(json.dumps(answer), flush=True)
    while detached:
        signal.pause()


def _leave(*_: object) -> NoReturn:
    for number in _LAST_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    raise SystemExit


def main() -> None:
    """Keep processes until the end of standard input or a signal, then end them all."""
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        sys.exit("this system has no child subreapers (Linux 3.4)")
    _keep_to_itself()
    for number in _LAST_SIGNALS:
        signal.signal(number, _leave)
    clean = False
    try:
        _serve(Keeper())
    finally:
        clean = _end_all()
    sys.exit(0 if clean else "some processes did not end")


def _keep_to_itself() -> None:
    """Keep the descriptors of the reserved ports from being inherited by children."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2:
            with contextlib.suppress(OSError):  # the descriptor of the listing itself
                os.set_inheritable(int(name), False)


if __name__ == "__main__":
    main()
