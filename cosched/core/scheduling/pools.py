"""Node pools: flat (any free nodes) and partitioned (aligned blocks of units)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Partitions:
    """A machine of `units` equal units that runs a job on an aligned block of them.

    Blocks have 1, 2, 4, 8, ... units or all of them; a block of s units starts at a multiple of s. With Intrepid's 80
    midplanes in rows of 16 these are its midplanes, parts of a row, rows, 2 rows, 4 rows, and the whole machine.
    """

    units: int
    unit_nodes: int

    @property
    def nodes(self) -> int:
        """Nodes of the whole machine."""
        return self.units * self.unit_nodes

    @property
    def sizes(self) -> list[int]:
        """Block sizes in nodes, ascending."""
        powers = [1 << i for i in range(self.units.bit_length()) if 1 << i < self.units]
        return [size * self.unit_nodes for size in (*powers, self.units)]

    def round_up(self, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the smallest block, in nodes, for each size in `nodes`; none may exceed the machine."""
        import numpy as np

        sizes = np.array(self.sizes, np.int64)
        return sizes[np.searchsorted(sizes, nodes)]


INTREPID = Partitions(units=80, unit_nodes=512)
_SIZED = re.compile(r"(\d{1,6})x(\d{1,6})")


def parse_node_pool(text: str) -> Partitions | None:
    """`flat` (None), `partitioned:intrepid` or `partitioned:UNITSxNODES`; ValueError for anything else."""
    kind, _, machine = text.partition(":")
    if kind == "flat" and not machine:
        return None
    if kind == "partitioned" and machine == "intrepid":
        return INTREPID
    sized = _SIZED.fullmatch(machine) if kind == "partitioned" else None
    if sized is None or 0 in (partitions := Partitions(int(sized[1]), int(sized[2]))).sizes:
        raise ValueError(f"{text!r} is neither flat, partitioned:intrepid nor partitioned:UNITSxNODES")
    return partitions
