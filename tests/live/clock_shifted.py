"""The command `cosched` under a wall clock of its own: `python clock_shifted.py FILE ARGUMENTS...`.

FILE holds the seconds by which its wall clock is ahead of the host's, and may be replaced at any time. Clocks that no
operator can set (monotonic, boottime) stay what they are.
"""

import datetime
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

_real_time, _real_time_ns, _real_gettime = time.time, time.time_ns, time.clock_gettime
_RealDatetime = datetime.datetime


def shift(ahead: Path) -> None:
    """Set the wall clock of this process, for modules that are imported from now on."""

    def seconds() -> float:
        return float(ahead.read_text())

    time.time = lambda: _real_time() + seconds()
    time.time_ns = lambda: _real_time_ns() + round(seconds() * 10**9)
    time.clock_gettime = lambda clock: _real_gettime(clock) + (seconds() if clock == time.CLOCK_REALTIME else 0)
    datetime.datetime = _ShiftedDatetime
    # gRPC's own code compares its deadlines with the host's clock.
    import grpc.aio._utils

    grpc.aio._utils.time = SimpleNamespace(time=_real_time)


class _AnyDatetime(type):
    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, _RealDatetime)


class _ShiftedDatetime(_RealDatetime, metaclass=_AnyDatetime):
    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> Any:
        return _RealDatetime.fromtimestamp(time.time(), tz)


if __name__ == "__main__":
    shift(Path(sys.argv.pop(1)))
    from cosched.cli.main import main

    sys.argv[0] = "cosched"
    main()
