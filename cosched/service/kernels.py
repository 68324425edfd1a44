"""Loads all compiled kernels of a live domain at the start, so that no call waits for one.

Loading a kernel takes up to a third of a second, compiling those of `try_start` several seconds. Peers wait 5 seconds
by default. What has to be compiled first is, in a process of its own, which a stop can end at once, and whose memory is
given back.
"""

from __future__ import annotations

import asyncio
import ctypes
import logging
import re
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from cosched.host import programs
from cosched.schedulers.kernels import prepare
from cosched.schedulers.loading import DEFAULT

_LOG = logging.getLogger(__name__)
_DONTNEED = 4  # MADV_DONTNEED
_CODE = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) r-xp .*/libllvmlite\.so$", re.MULTILINE)


def load_kernels(sets: Sequence[str] = ("batch",), *, of: str = DEFAULT) -> None:
    """Load these sets `of` a kind, or compile them the first time; then give back the memory of the compiler's code.

    The operating system drops these pages, 50 MB, and reads them again if need be.
    """
    seconds = prepare(sets, _LOG.warning, of=of)
    _LOG.info("loaded kernels (%s) in %.1f s", ", ".join(sets), seconds)
    for start, end in _CODE.findall(Path("/proc/self/maps").read_text()):
        address, length = int(start, 16), int(end, 16) - int(start, 16)
        ctypes.CDLL(None).madvise(ctypes.c_void_p(address), ctypes.c_size_t(length), _DONTNEED)


async def compile_beside(sets: Sequence[str], tell: Callable[[str], None]) -> None:
    """Compile these sets in a process of its own, or wait for the process that does; it ends if this is cancelled.

    `tell` gets what it says: that it compiles a set, or for whom it waits.
    """
    began = time.monotonic()
    code = f"import sys; from {prepare.__module__} import prepare; "
    code += "prepare(sys.argv[1:], lambda said: print(said, flush=True))"
    nothing, pipe = asyncio.subprocess.DEVNULL, asyncio.subprocess.PIPE
    process = await programs.started(sys.executable, "-P", "-c", code, *sets, stdin=nothing, stdout=pipe, stderr=pipe)
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        async for line in process.stdout:
            tell(line.decode(errors="replace").strip())
        said = await process.stderr.read()
        await process.wait()
    except asyncio.CancelledError:
        await programs.end(process)
        raise
    if process.returncode:  # loading them will show what is wrong
        last = said.decode(errors="replace").strip().rpartition("\n")[2]
        _LOG.warning("the process that compiles the kernels has failed (exit code %d): %s", process.returncode, last)
    else:
        _LOG.info("kernels (%s) are compiled, after %.0f s", ", ".join(sets), time.monotonic() - began)
