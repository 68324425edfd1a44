"""Facts about a job log: counts, machine, load, and how sizes and times are distributed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosched_sim.workload.jobs import TraceLog, Workload
from cosched_sim.workload.traces.shaping import offered_load

QUANTILES = {"min": 0, "p25": 25, "median": 50, "p75": 75, "p95": 95, "p99": 99, "max": 100}


def facts(log: TraceLog, workload: Workload, nodes: int | None) -> dict[str, Any]:
    """Return facts about a log for JSON, in seconds and nodes.

    `workload` are the jobs of the log that can be run; sizes, run times and load are theirs. `nodes` is the size of
    the machine, None if unknown.
    """
    ran = log.run > 0
    asked = ran & (log.requested_time > 0)
    users = log.user[log.user >= 0]
    first, last = int(workload.submit.min()), int(workload.submit.max())
    return {
        "source": log.source,
        "computer": log.header.get("Computer") or log.header.get("Installation"),
        "start": _start(log.header),
        "local_times": log.local_times or None,
        "remarks": list(log.remarks),
        "nodes": nodes,
        "stated_nodes": workload.stated_nodes,
        "jobs_in_file": len(log),
        "jobs": len(workload),
        "rejected": dict(workload.rejected),
        "users": int(np.unique(users).size) or None,
        "first_submit_s": first,
        "last_submit_s": last,
        "span_s": last - first,
        "offered_load": offered_load(workload, nodes) if nodes is not None and last > first else None,
        "without_request": int((ran & ~asked).sum()),
        "ran_past_request": int((log.run > log.requested_time)[asked].sum()),
        "nodes_per_job": _quantiles(workload.nodes),
        "run_s": _quantiles(workload.run),
        "requested_s": _quantiles(log.requested_time[asked]),
        "run_share_of_request": _quantiles(log.run[asked] / log.requested_time[asked]),
        "between_arrivals_s": _quantiles(np.diff(workload.submit)),
        "logged_wait_s": _quantiles(log.wait[ran & (log.wait >= 0)]),
    }


def _start(header: Mapping[str, str]) -> str | None:
    """Return time 0 of the log in UTC, if the log states it."""
    try:
        start = datetime.fromtimestamp(int(header.get("UnixStartTime", "").split()[0]), UTC)
    except (IndexError, ValueError, OverflowError, OSError):
        return None
    return start.isoformat().replace("+00:00", "Z") if start.year > 1970 else None


def _quantiles(values: NDArray[Any]) -> dict[str, float | None]:
    if values.size == 0:
        return dict.fromkeys(("mean", *QUANTILES))
    found = np.percentile(values, list(QUANTILES.values())).tolist()
    return {"mean": float(values.mean()), **dict(zip(QUANTILES, found, strict=True))}
