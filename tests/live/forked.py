"""Services and commands without the wait for what they load: each is forked from one process that has loaded it all.

Imports and kernels are most of what either does in a short test, and the same in every test. `python -m
tests.live.forked` is that process; it reads and answers one line of JSON a request, and ends with whoever started it.
"""

import atexit
import ctypes
import gc
import json
import os
import signal
import subprocess
import sys
import threading
import time
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

LOADED = (
    "cosched.cli.serve",
    "cosched.cli.client.submit",
    "cosched.cli.client.show",
    "cosched.service.service",
    "cosched.service.description",
    "cosched.service.logs.logs",
    "cosched_adapters.local.manager",
    "cosched_adapters.gridengine.manager",
    "cosched_adapters.slurm.manager",
    *(["cosched_sim.replay_manager.manager"] if find_spec("cosched_sim") else []),
)
NOTHING = Path(os.devnull)
PR_SET_PDEATHSIG = 1  # linux/prctl.h
_ONE_AT_A_TIME = threading.Lock()  # campaigns of kills ask from threads


class Forked:
    """A process `cosched ARGUMENT...`; what of subprocess.Popen tests of services use."""

    def __init__(self, arguments: list[str], folder: Path, environment: dict[str, str], *files: Path) -> None:
        """Start it with these standard files: input, output, errors."""
        self.returncode: int | None = None
        wanted = {"arguments": arguments, "folder": str(folder), "environment": environment}
        self.pid = int(_ask({**wanted, "files": [*map(str, files)]}))

    def poll(self) -> int | None:
        """Its exit code, or minus the signal that ended it; None while it runs."""
        if self.returncode is None:
            self.returncode = _ask({"poll": self.pid})
        return self.returncode

    def wait(self, timeout: float = 600.0) -> int:
        """Its exit code, once it has ended; subprocess.TimeoutExpired."""
        end = time.monotonic() + timeout
        while (code := self.poll()) is None:
            if time.monotonic() > end:
                raise subprocess.TimeoutExpired("cosched", timeout)
            time.sleep(0.01)
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it is known to have ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)


def ran(
    arguments: list[str], folder: Path, environment: dict[str, str], text: str = ""
) -> subprocess.CompletedProcess[str]:
    """The end of `cosched ARGUMENT...` with this text on its standard input, and what it has said."""
    with TemporaryDirectory() as place:
        said, out, errors = (Path(place, name) for name in ("said", "out", "errors"))
        said.write_text(text)
        code = Forked(arguments, folder, environment, said, out, errors).wait()
        return subprocess.CompletedProcess(arguments, code, out.read_text(), errors.read_text())


@cache
def _source() -> subprocess.Popen[str]:
    """The process that forks them, one for this tester."""
    source = subprocess.Popen(
        [sys.executable, "-m", __name__], cwd=Path(__file__).parents[2], text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    atexit.register(source.communicate)  # it ends when its input does
    return source


def _ask(request: dict[str, Any]) -> Any:
    with _ONE_AT_A_TIME:
        source = _source()
        source.stdin.write(json.dumps(request) + "\n")
        source.stdin.flush()
        return json.loads(source.stdout.readline())


def _load() -> None:
    from cosched.installation.compilation import use_kernel_cache

    use_kernel_cache()
    for module in LOADED:
        import_module(module)
    from cosched.service.kernels import load_kernels

    load_kernels()
    gc.freeze()


def _forks() -> list[str]:
    """Answer requests to their end; returns in each forked process, with the arguments of its command."""
    for line in iter(sys.stdin.readline, ""):
        request = json.loads(line)
        if "poll" in request:
            pid, status = os.waitpid(request["poll"], os.WNOHANG)
            answer = os.waitstatus_to_exitcode(status) if pid else None
        elif (answer := os.fork()) == 0:
            _become(request)
            return list(request["arguments"])
        print(json.dumps(answer), flush=True)
    os._exit(0)


def _become(request: dict[str, Any]) -> None:
    """A process as it is started by a command: folder, environment, standard files. It ends with its tester, though."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    for target, path in enumerate(request["files"]):
        source = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT if target else os.O_RDONLY, 0o644)
        os.dup2(source, target)
        os.close(source)


if __name__ == "__main__":
    _load()
    arguments = _forks()
    from cosched.cli.main import main

    try:
        main(arguments, prog_name="cosched")
    except SystemExit as end:
        if arguments[0] == "serve":
            raise
        sys.stdout.flush()  # to take all apart that is loaded would cost more than the command
        os._exit(int(end.code or 0))
