"""How large a scheduler is: few classes on one self, in which a reader can see what is where; the rest are parts."""

from __future__ import annotations

import inspect

from cosched.core.scheduling.external import ExternalScheduler
from tests.conformance.schedulers.kinds import SCHEDULERS

CLASSES, LINES = 3, 400
# Those that are still larger, by how many classes and lines: a number here may only fall, until its row goes.
LARGER = {
    "Molding": (3, 524),
    "Heterogeneous": (3, 629),
}


def sizes() -> dict[str, tuple[int, int]]:
    """How many classes of ours a scheduler has in its line of inheritance, and how many lines these have."""
    opened = [type(scheduler()) for scheduler in SCHEDULERS.values()] + [ExternalScheduler]
    found = {}
    for kind in opened:
        own = [each for each in kind.__mro__ if not each.__module__.startswith(("abc", "builtins", "typing"))]
        found[kind.__name__] = len(own), sum(len(inspect.getsource(each).splitlines()) for each in own)
    return found


def test_a_scheduler_has_few_classes_and_lines_on_one_self():
    over = {
        name: size
        for name, size in sizes().items()
        if any(number > most for number, most in zip(size, LARGER.get(name, (CLASSES, LINES)), strict=True))
    }
    assert over == {}


def test_who_is_small_enough_is_no_exception_any_more():
    found = sizes()
    assert [name for name in LARGER if name in found and found[name][0] <= CLASSES and found[name][1] <= LINES] == []
