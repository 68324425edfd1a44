"""Replays job logs of coupled clusters through cosched's own scheduling code, on a virtual clock.

import sim
result = sim.replay([sim.Domain(name="intrepid", trace="intrepid.swf.gz"), ...], pair_window="2m")
result.pairs, result.domains["intrepid"].metrics, result.jobs
"""

from cosched.compilation import use_kernel_cache

use_kernel_cache()

from sim.configuration import Domain, ReplayConfig  # noqa: E402
from sim.replay import Replay, replay, run  # noqa: E402
from sim.results import DomainResult, ReplayResult  # noqa: E402

__all__ = ["Domain", "DomainResult", "Replay", "ReplayConfig", "ReplayResult", "replay", "run"]
