"""How large a scheduler is: few classes on one self, in which a reader can see what is where; the rest are parts."""

from __future__ import annotations

import inspect

from cosched.core.scheduling.external import ExternalScheduler
from tests.conformance.schedulers.kinds import SCHEDULERS

CLASSES, LINES = 3, 400


def sizes() -> dict[str, tuple[int, int]]:
    """How many classes of ours a scheduler has in its line of inheritance, and how many lines these have."""
    opened = [type(scheduler()) for scheduler in SCHEDULERS.values()] + [ExternalScheduler]
    found = {}
    for kind in opened:
        own = [each for each in kind.__mro__ if not each.__module__.startswith(("abc", "builtins", "typing"))]
        found[kind.__name__] = len(own), sum(len(inspect.getsource(each).splitlines()) for each in own)
    return found


def test_a_scheduler_has_few_classes_and_lines_on_one_self():
    assert {name: of for name, of in sizes().items() if of[0] > CLASSES or of[1] > LINES} == {}
