"""The job's own process, from fork to exec. It does whatever needs the user's rights with these rights only.

It sends its supervisor b"R" when all is prepared, and waits for one byte. (If the pipe closes instead, the supervisor
has died, and a job that is not recorded must not start.) Then it sends b"S" and the time, and becomes the job. It sends
b"F" and a reason if it cannot. Imports little.
"""

from __future__ import annotations

import errno
import os
import signal
import stat
import time

from cosched.validation.scripts import interpreter
from cosched_adapters.local.jobfile import TOKEN, JobFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

READY, STARTING, FAILED = b"R", b"S", b"F"
IGNORED = (signal.SIGPIPE, signal.SIGXFSZ)  # supervisors ignore these signals, and get the error instead
DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin"
_BUSY_TRIES = 50


class CannotStartError(Exception):
    """The job cannot be started; `str()` says why, to its owner."""


def become(job: JobFile, folder: str, go: int, tell: int) -> NoReturn:
    """Become the job; never returns. `go` and `tell` are pipes from and to the supervisor."""
    try:
        os.setsid()
        for number in IGNORED:
            signal.signal(number, signal.SIG_DFL)  # the fork server has reset all others
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        _limit(job)
        program = _open_script(job, folder)
        _switch_user(job)
        os.umask(0o022)
        _enter(job.directory)
        _connect(job)
        os.write(tell, READY)
        if os.read(go, 1):
            os.write(tell, b"%s%d" % (STARTING, time.time_ns()))
            _execute(program, job)
    except CannotStartError as error:
        os.write(tell, FAILED + str(error).encode("utf-8", "backslashreplace"))
    except OSError as error:
        os.write(tell, FAILED + f"cannot be prepared: {error.strerror}".encode())
    except BaseException as error:
        os.write(tell, FAILED + f"cannot be prepared: {type(error).__name__}".encode())
    finally:
        os._exit(127)


def _open_script(job: JobFile, folder: str) -> str | None:
    """Return the path to execute as the script; None if there is no script."""
    path = os.path.join(folder, "script")
    if not job.script or job.uid is None:
        return path if job.script else None
    # Another user cannot enter the spool, but can read this one file through an open descriptor.
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    os.set_inheritable(fd, True)
    return f"/proc/self/fd/{fd}"


def _limit(job: JobFile) -> None:
    """Have its part of a processor, and no more."""
    try:
        if job.group is not None:
            fd = os.open(os.path.join(job.group, "cgroup.procs"), os.O_WRONLY | os.O_CLOEXEC)
            os.write(fd, b"0")  # this process
            os.close(fd)
        if job.nice:
            os.nice(job.nice)
    except OSError as error:
        raise CannotStartError(f"its part of a processor cannot be set: {error.strerror}") from None


def _switch_user(job: JobFile) -> None:
    if job.uid is None:
        return
    try:
        os.setgroups(job.groups)
        os.setresgid(job.groups[0], job.groups[0], job.groups[0])
        os.setresuid(job.uid, job.uid, job.uid)
    except OSError as error:
        raise CannotStartError(f"cannot run as user {job.uid}: {error.strerror}") from None


def _enter(directory: str) -> None:
    try:
        os.chdir(directory)
    except OSError as error:
        raise CannotStartError(f"working directory {directory!a}: {error.strerror}") from None


def _connect(job: JobFile) -> None:
    nothing = os.open(os.devnull, os.O_RDONLY)
    output = _open_output("output", job.output)
    error = output if job.error is None else _open_output("error", job.error)
    for fd, standard in ((nothing, 0), (output, 1), (error, 2)):
        os.dup2(fd, standard)


def _open_output(what: str, path: str) -> int:
    """Open a new or empty file for writing. Refuse links, pipes, and files that others own or that have two names."""
    flags = os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        try:
            fd = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o644)
        except FileExistsError:
            fd = os.open(path, flags)
            _check_old(fd)
        os.set_blocking(fd, True)
    except OSError as error:
        reason = "is a symbolic link" if error.errno == errno.ELOOP else error.strerror
        raise CannotStartError(f"{what} file {path!a}: {reason}") from None
    return fd


def _check_old(fd: int) -> None:
    about = os.fstat(fd)
    if stat.S_ISREG(about.st_mode) and about.st_uid == os.geteuid() and about.st_nlink == 1:
        os.ftruncate(fd, 0)
    elif not (stat.S_ISCHR(about.st_mode) and about.st_rdev == os.stat(os.devnull).st_rdev):
        raise OSError(errno.EEXIST, "exists, and is not a plain file of the job's owner alone")


def _execute(program: str | None, job: JobFile) -> None:
    """Execute the job's program; return only by raising."""
    if program is not None:
        _try(program, [program, *job.arguments], job.environment, "script")
    name = job.arguments[0]
    if "/" in name:
        _try(name, job.arguments, job.environment, f"command {name!a}")
    denied = False
    for folder in job.environment.get("PATH", DEFAULT_PATH).split(":"):
        try:
            os.execve(os.path.join(folder or ".", name), job.arguments, job.environment)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except PermissionError:
            denied = True
        except OSError as error:
            raise CannotStartError(f"command {name!a}: {error.strerror}") from None
    raise CannotStartError(f"command {name!a}: {'Permission denied' if denied else 'not found in PATH'}")


def _try(path: str, arguments: list[str], environment: dict[str, str], what: str) -> None:
    for _ in range(_BUSY_TRIES):
        try:
            os.execve(path, arguments, environment)
        except OSError as error:
            # Busy: a process that the service is starting right now still has the file open, for an instant.
            if error.errno == errno.ENOENT and (missing := _missing_interpreter(path)):
                raise CannotStartError(f"{what}: its interpreter {missing!a} is missing") from None
            if error.errno != errno.ETXTBSY:
                raise CannotStartError(f"{what}: {error.strerror}") from None
            time.sleep(0.01)
    raise CannotStartError(f"{what}: {os.strerror(errno.ETXTBSY)}")


def _missing_interpreter(path: str) -> str:
    """Return the interpreter that a script names, if it is not there; else nothing."""
    try:
        with open(path, "rb") as script:
            named = interpreter(script.readline(4096))
    except OSError:
        return ""
    return "" if os.path.exists(named) else named


def mark(job: JobFile) -> bytes:
    """Return the environment entry that identifies the job's processes."""
    return f"{TOKEN}={job.token}".encode()
