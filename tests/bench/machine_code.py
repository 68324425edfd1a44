"""The yardstick: the minimal C loop of easy.c, compiled on the fly."""

import ctypes
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

from cosched_sim.workload.jobs import Ints, Workload

SOURCE = Path(__file__).with_name("easy.c")
COLUMN = np.ctypeslib.ndpointer(np.int64, flags="C_CONTIGUOUS")


class CLoop:
    """FCFS or WFP, and EASY, in C."""

    def __init__(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            library = Path(folder) / "easy.so"
            subprocess.run(["cc", "-O3", "-march=native", "-shared", "-fPIC", "-o", library, SOURCE], check=True)
            self._easy = ctypes.CDLL(str(library)).easy
        self._easy.argtypes = [ctypes.c_int64] * 3 + [COLUMN] * 5

    def run(self, work: Workload, nodes: int, policy: str) -> tuple[float, Ints]:
        """CPU seconds and start times."""
        columns = [np.ascontiguousarray(c) for c in (work.submit, work.run, work.requested, work.nodes)]
        start = np.empty_like(columns[0])
        began = time.process_time()
        self._easy(len(work), nodes, policy == "wfp", *columns, start)
        return time.process_time() - began, start
