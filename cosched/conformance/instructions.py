"""What something costs, whatever the pace of the machine: the instructions that the interpreter carries out."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def instructions(act: Callable[[], object]) -> int:
    """Return how many `act` takes; a call of compiled code is one."""
    count = 0

    def see(frame: FrameType, event: str, _: object) -> Any:
        nonlocal count
        count += event == "opcode"
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return see

    before = sys.gettrace()
    sys.settrace(see)
    try:
        act()
    finally:
        sys.settrace(before)
    return count
