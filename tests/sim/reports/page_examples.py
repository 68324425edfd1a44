"""Small replays for tests of pages."""

import time
from pathlib import Path

import numpy as np

from cosched_sim import replay
from cosched_sim.configuration import Domain
from cosched_sim.results.output import RunInfo, write_run
from cosched_sim.workload.jobs import Workload

COMMAND = "cosched replay --domain 'it's \"</script><b>here</b>'"


def workload(name: str, *jobs: tuple[object, int, int, int]) -> Workload:
    """Jobs (id, submit, run, nodes); they ask for what they run."""
    ids, *columns = zip(*jobs, strict=True)
    submit, run, nodes = (np.array(column, np.int64) for column in columns)
    return Workload(name, np.array(ids, dtype=object), submit, run, nodes, requested=run)


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
