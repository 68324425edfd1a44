"""Replays job logs of coupled clusters through cosched's own scheduling code, on a virtual clock.

import cosched_sim as sim
result = sim.replay([sim.Domain(name="intrepid", trace="intrepid.swf.gz"), ...], pair_window="2m")
result.pairs, result.domains["intrepid"].metrics, result.jobs
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from cosched.installation.compilation import use_kernel_cache

if TYPE_CHECKING:
    from cosched_sim.api import Replay, Result, replay, run
    from cosched_sim.results.result import DomainResult, ReplayResult
    from cosched_sim.settings import Domain, ReplayConfig

__all__ = ["Domain", "DomainResult", "Replay", "ReplayConfig", "ReplayResult", "Result", "replay", "run"]

use_kernel_cache()

# Imported on first use: reading or writing a trace needs no compiler.
_HOME = {
    **dict.fromkeys(("Domain", "ReplayConfig"), "cosched_sim.settings"),
    **dict.fromkeys(("Replay", "Result", "replay", "run"), "cosched_sim.api"),
    **dict.fromkeys(("DomainResult", "ReplayResult"), "cosched_sim.results.result"),
}


def __dir__() -> list[str]:
    return __all__


if not TYPE_CHECKING:  # type checkers would take any name for one of ours

    def __getattr__(name: str) -> Any:
        if name not in _HOME:
            raise AttributeError(f"module 'cosched_sim' has no attribute {name!r}")
        return getattr(importlib.import_module(_HOME[name]), name)
