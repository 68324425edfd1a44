"""Skew of start: how far apart the first instructions of two mates are, under contention, for all four combinations.

Each job notes the time as its first command, a shell's $EPOCHREALTIME. `python -m tests.bench.skew` prints a table.
"""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from tests.live import workloads
from tests.live.services import Pair
from tests.live.workloads import SCHEMES

T = TypeVar("T")
SEED = 1
SHARES = (0.5, 0.95, 0.99, 1.0)


def measure(
    pairs: int = 50, *, alone: int = 10, slots: int = 6, schemes: tuple[str, str] = ("hold", "hold"), seed: int = SEED
) -> list[float]:
    """Seconds between the mates' starts of each pair, ascending: `pairs` pairs and, on each side, `alone` other jobs.

    RuntimeError if a job did not run exactly once, or started without its mate.
    """
    with tempfile.TemporaryDirectory(prefix="cosched-skew-") as folder:
        pair = Pair(Path(folder), release_interval="2s", max_held_fraction=0.7)
        workloads.set_up(pair, slots, schemes)
        try:
            outcome = workloads.run(pair.start(), workloads.contended(seed, pairs, alone))
        finally:
            pair.clear()
    if set(outcome.runs.values()) != {1} or outcome.alone() or len(outcome.times) != pairs:
        raise RuntimeError(f"not all pairs started together: {outcome.alone()}")
    return sorted(outcome.skews())


def in_turn(sides: Mapping[str, T], rounds: int, measure: Callable[[T], float]) -> dict[str, list[float]]:
    """What is measured of each side, ascending; the sides take turns, and which comes first alternates."""
    found: dict[str, list[float]] = {name: [] for name in sides}
    for number in range(rounds):
        for name in sorted(sides, reverse=bool(number % 2)):
            found[name].append(measure(sides[name]))
    return {name: sorted(each) for name, each in found.items()}


def quantile(ascending: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of all values does not exceed."""
    return ascending[max(0, -(-round(share * 1000) * len(ascending) // 1000) - 1)]


def table(pairs: int = 50) -> str:
    """All four combinations; milliseconds."""
    lines = [f"{'scheme':<12} {'pairs':>5} {'median':>8} {'p95':>8} {'p99':>8} {'max':>8}"]
    for schemes in SCHEMES:
        skews = measure(pairs, schemes=schemes)
        shown = " ".join(f"{quantile(skews, share) * 1000:8.1f}" for share in SHARES)
        lines.append(f"{'-'.join(schemes):<12} {len(skews):>5} {shown}")
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    print("Skew of start: milliseconds between the first instructions of two mates")
    print(table())


if __name__ == "__main__":
    main()
