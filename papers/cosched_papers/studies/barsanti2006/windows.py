"""Windows of real logs: parts with the same number of jobs, spread evenly over each log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from cosched_papers.studies.tang2011.logs import read_log, rows_of
from cosched_sim.studies.study import Told
from cosched_sim.workload import traces

COUNT, QUICK_COUNT = 5, 2
MOST_JOBS, QUICK_JOBS = 2000, 500


def cut_windows(settings: Mapping[str, str], number: int, folder: Path, told: Told, *, quick: bool) -> dict[str, Any]:
    """Write the windows of a log, without common jobs, to the folder; return what there is.

    InputError, OSError.
    """
    count, most = (QUICK_COUNT, QUICK_JOBS) if quick else (COUNT, MOST_JOBS)
    log = read_log("--log", settings, told.say)
    length = min(most, len(log.jobs) // count)
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for window in range(count):
        begin = (len(log.jobs) - length) * window // (count - 1)
        jobs = rows_of(log.jobs, slice(begin, begin + length))
        files.append(str((folder / f"log-{number}-{window + 1}.swf.gz").resolve()))
        header = {"MaxNodes": str(log.nodes), "MaxProcs": str(log.nodes)}
        traces.write_swf(replace(jobs, submit=jobs.submit - jobs.submit[0]), files[-1], header)
    name = Path(settings["trace"]).name.split(".swf")[0]
    return {"name": name, "nodes": log.nodes, "jobs": length, "files": files}
