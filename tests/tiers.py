"""Two tiers of tests: the short one before every change, and soak, which is long and has other seeds at every run.

`make test` runs all but soak, `make soak` runs soak alone; `make soak SEED=7` repeats a run.
"""

import os
import random
from collections.abc import Iterable
from typing import Any

import pytest

# The seed of this run of soak; testers in other processes inherit it.
SEED = int(os.environ.get("SOAK_SEED") or random.SystemRandom().randrange(10**6))
os.environ["SOAK_SEED"] = str(SEED)

_left_out = False  # whether this run leaves soak out: a hundred thousand cases, which would take longer to collect


def configure(config: pytest.Config) -> None:
    """Be told which tests run."""
    global _left_out
    _left_out = "not soak" in config.option.markexpr


def seeds(short: int, long: int) -> list[Any]:
    """Seeds to parametrise a test with: 0, 1, ... in the short tier, `long` others in soak, new ones at every run."""
    return [*range(short), *soaked(range(SEED * 1000, SEED * 1000 + long), 0)]


def soaked(values: Iterable[Any], short: int) -> list[Any]:
    """Values to parametrise a test with: the first so many in the short tier, all others in soak.

    Where soak is left out one of them stands for all, so that a test of soak alone is told from one without values.
    """
    values = list(values)
    later = values[short : short + 1] if _left_out else values[short:]
    return [*values[:short], *(pytest.param(value, marks=pytest.mark.soak) for value in later)]
