"""What a molding scheduler reads of a job (molding.md, Jobs): whether it is moldable, its bounds, how long it runs."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from cosched.schedulers.column import MAX_NODES, MIN_NODES, UNKNOWN, Column
from cosched.validation.text import shown
from cosched_papers.molding.curves import MILLIONTHS, Downey, Measured
from cosched_papers.molding.jobs import Moldable

BOUNDS = (MIN_NODES, MAX_NODES)
CURVE = ("downey_a", "downey_sigma")
TIMES = "run_times"


def columns() -> Sequence[Column]:
    """Return them; the parameters of a curve are in millionths."""
    moldable = Column.of_words("moldable", "0", "1", help="its size is chosen when it starts")
    least = Column(MIN_NODES, _read_nodes, help="the fewest nodes of such a job (as its speed-up has it)")
    most = Column(MAX_NODES, _read_nodes, help="and the most (as its speed-up and the machine have it)")
    a = Column("downey_a", _read_a, _write_millionths, UNKNOWN, "its average parallelism, if speedup=downey")
    sigma = Column("downey_sigma", _read_millionths, _write_millionths, UNKNOWN, "and the variance of that")
    times = Column(TIMES, _read_times, _write_times, help="its run times on all sizes: 4:900 5:800 ...", whole=False)
    return moldable._replace(default=UNKNOWN, flag="1"), least, most, a, sigma, times


def moldable(
    said: int, least: int, most: int, a: int, sigma: int, times: Measured | int, *, needs_curve: bool = False
) -> Moldable | None:
    """Return what a job says, by its columns in order; None: it keeps its size.

    ValueError: it says too little, or what has no meaning.
    """
    bounds = max(0, least), max(0, most)
    given = [name for name, is_given in zip((*BOUNDS, TIMES), (*bounds, times != UNKNOWN), strict=True) if is_given]
    if said == 0 and given:
        raise ValueError(f"{given[0]}: has no meaning, as the job is not moldable: leave moldable=0 out")
    if said != 1 and not given:
        return None
    if isinstance(times, Measured):
        if (a, sigma) != (UNKNOWN, UNKNOWN):
            raise ValueError(f"{TIMES}: the job has a curve of Downey's, too: leave one of them out")
        return Moldable(times, *bounds)
    if (needs_curve and a == UNKNOWN) or (a == UNKNOWN) != (sigma == UNKNOWN):
        missing = CURVE[a != UNKNOWN]
        raise ValueError(f"{missing}: missing, which says how sizes change the job's run time")
    return Moldable(None if a == UNKNOWN else Downey(a, sigma), *bounds)


def _read_nodes(text: str) -> int:
    from cosched_sim.workload.traces.values import whole

    if (nodes := whole(text)) < 1:
        raise ValueError(f"{shown(text)} is below 1")
    return nodes


def _read_millionths(text: str) -> int:
    from cosched_sim.workload.traces.values import number

    if not 0 <= number(text) <= MILLIONTHS:
        raise ValueError(f"{shown(text)} is not a number from 0 to {MILLIONTHS:,}")
    return round(Decimal(text) * MILLIONTHS)


def _read_a(text: str) -> int:
    value = _read_millionths(text)
    if value < MILLIONTHS:
        raise ValueError(f"{shown(text)} is less than 1, the average parallelism of a serial job")
    return value


def _write_millionths(value: int) -> str:
    return "" if value == UNKNOWN else str(Decimal(value) / MILLIONTHS)


def _read_times(text: str) -> Measured:
    table: dict[int, int] = {}
    for entry in text.split():
        try:
            nodes, seconds = map(_read_nodes, entry.split(":"))
        except ValueError:
            raise ValueError(f"{shown(entry)} is not NODES:SECONDS, two whole numbers such as 4:900") from None
        if nodes in table:
            raise ValueError(f"{nodes} nodes are given twice: leave one of them out")
        table[nodes] = seconds
    if not table:
        raise ValueError("is empty: give NODES:SECONDS of each size, or leave it out")
    return Measured.of(table)


def _write_times(value: Measured | int) -> str:
    if not isinstance(value, Measured):
        return ""
    return " ".join(f"{nodes}:{seconds}" for nodes, seconds in enumerate(value.seconds, value.least))
