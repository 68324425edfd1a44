"""Small replays for tests of pages."""

import time
from pathlib import Path

from cosched_sim import replay
from cosched_sim.configuration import Domain
from cosched_sim.results.output import RunInfo, write_run

COMMAND = "cosched replay --domain 'it's \"</script><b>here</b>'"


def two_days(folder: Path, **options: object) -> Path:
    """Two days of two coupled machines that hold, written to `folder`."""
    domains = [
        Domain(name="intrepid", trace="generated:intrepid/jobs=400/days=2", scheme="hold"),
        Domain(name="eureka", trace="generated:eureka/jobs=80/days=2", scheme="hold"),
    ]
    return written(folder, domains, **{"pair_window": "10m", "seed": 1, **options})


def written(folder: Path, domains: list[Domain], **options: object) -> Path:
    """The files of a replay."""
    write_run(replay(domains, **options), folder, RunInfo(COMMAND, 1, time.perf_counter()))
    return folder
