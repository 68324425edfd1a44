"""Speed measurements; not collected by pytest."""

import atexit
import os
import resource
import shutil
import tempfile
from pathlib import Path

from cosched.installation.compilation import use_kernel_cache

use_kernel_cache()  # before numpy, as in the command

# Where Python may not keep what it compiles of our sources, each command would compile them again: 0.2 s of CPU.
if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
    os.environ["PYTHONPYCACHEPREFIX"] = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, os.environ["PYTHONPYCACHEPREFIX"], ignore_errors=True)


def cpu_of(pid: int) -> float:
    """CPU seconds that a process has used, without its children."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def cpu_of_commands() -> float:
    """CPU seconds of all processes of ours that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
