"""`make bench` runs parts by their names; each must be there."""

import re
from importlib.util import find_spec
from pathlib import Path

from tests.bench.bench import PARTS, WITH_SLURM

MAKEFILE = Path(__file__).resolve().parents[2] / "Makefile"


def test_all_parts_of_make_bench_are_there():
    of_make = re.findall(r"python -m (tests\.bench\.\w+)", MAKEFILE.read_text())
    parts = [*of_make, *(f"tests.bench.{part}" for part in (*PARTS, *WITH_SLURM))]
    assert len(of_make) == 5
    assert [part for part in parts if find_spec(part) is None] == []
