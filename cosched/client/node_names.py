"""Lists of node names in short form: `n[1-3,7],gpu2`."""

from __future__ import annotations

from collections.abc import Iterable

_DIGITS = "0123456789"


def fold(names: Iterable[str]) -> str:
    """Fold names that differ only in their number into ranges; names without a number come first."""
    alone: list[str] = []
    runs: dict[str, list[tuple[str, str]]] = {}
    expected: tuple[str, str] | None = None
    for beginning, _, digits in sorted(map(_parts, set(names))):
        if not digits:
            alone.append(beginning)
        elif (beginning, digits) == expected:
            runs[beginning][-1] = runs[beginning][-1][0], digits
        else:
            runs.setdefault(beginning, []).append((digits, digits))
        expected = (beginning, str(int(digits) + 1).zfill(len(digits))) if digits else None
    return ",".join([*alone, *(_folded(beginning, found) for beginning, found in runs.items())])


def _parts(name: str) -> tuple[str, int, str]:
    """Split a name into its beginning and the digits after it; the parts sort by number."""
    beginning = name.rstrip(_DIGITS)
    digits = name[len(beginning) :]
    return beginning, len(digits), digits


def _folded(beginning: str, runs: list[tuple[str, str]]) -> str:
    parts = [first if first == last else f"{first}-{last}" for first, last in runs]
    return beginning + (f"[{','.join(parts)}]" if len(parts) > 1 or "-" in parts[0] else parts[0])
