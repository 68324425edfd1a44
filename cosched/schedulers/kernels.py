"""The compiled kernels of all kinds of schedulers, in sets: what compiles each, or loads it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from cosched.installation.compilation import kernels_are_compiled, prepare_kernels
from cosched.schedulers.kind import SchedulerKind
from cosched.schedulers.loading import kinds


def all_sets() -> Mapping[str, Callable[[], None]]:
    """Return all sets of kernels by name: what uses them once."""
    return _sets_of(kinds().values())


def _sets_of(some: Iterable[SchedulerKind]) -> Mapping[str, Callable[[], None]]:
    """Return the sets of some kinds; the kernels of others are not imported, which takes long."""
    return {name: use for kind in some for name, use in kind.kernels().items()}


def prepare(sets: Iterable[str], say: Callable[[str], None], *, of: str | None = None) -> float:
    """Load sets `of` one kind or of all, or compile them and `say` so; return the seconds that took."""
    known = all_sets() if of is None else _sets_of([kinds()[of]])
    return sum(prepare_kernels(known[name], say, name) for name in sets)


def uncompiled(sets: Sequence[str], *, of: str) -> list[str]:
    """Return those of these sets of a kind that have to be compiled."""
    known = _sets_of([kinds()[of]])
    return [name for name in sets if not kernels_are_compiled(known[name])]
