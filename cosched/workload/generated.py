"""Generated traces: `generated:NAME/key=value/...` as a domain's trace draws a workload instead of reading a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from cosched.errors import InputError
from cosched.workload.applications import APPLICATIONS, ApplicationTrace
from cosched.workload.generate import generate, swf_header
from cosched.workload.jobs import UNKNOWN, TraceLog, Workload
from cosched.workload.machine_models import MODELS, MachineModel, MachineName, varied

PREFIX = "generated:"
FORM = "generated:MODEL/jobs=N/days=D/utilisation=U/seed=S"
FORM_OF_APPLICATIONS = "generated:APPLICATION/jobs=N/beta=B/ge_p4=S/seed=S"
VARIANTS = ("sessions", "swing", "large", "spread")  # what may be varied of a model
DAY_S = 86_400
MOST_DAYS = 10**6


@dataclass(frozen=True, slots=True)
class GeneratedTrace:
    """What to draw. None: the value follows from the others (`generate`); for `seed`, from the replay.

    The last four vary the model (`machine_models.varied`).
    """

    machine: MachineName
    jobs: int | None = None
    days: float | None = None
    utilisation: float | None = None
    seed: int | None = None
    sessions: float | None = None
    swing: float | None = None
    large: float | None = None
    spread: float | None = None

    @property
    def model(self) -> MachineModel:
        """The model to draw from; ValueError for one that cannot be drawn."""
        wanted = {name: getattr(self, name) for name in VARIANTS}
        return varied(MODELS[self.machine], **{name: value for name, value in wanted.items() if value is not None})

    def log(self, seed: int) -> TraceLog:
        """Draw the jobs as if read from a file, with `seed` unless the trace states its own; InputError."""
        if self.seed is not None:
            seed = self.seed
        span_s = None if self.days is None else max(1, round(self.days * DAY_S))
        workload = generate(self.model, jobs=self.jobs, span_s=span_s, utilisation=self.utilisation, seed=seed)
        return replace(_as_log(workload), header=swf_header(self.machine, MODELS[self.machine].nodes, seed))


def is_generated(trace: object) -> bool:
    """Whether a domain's trace is generated rather than read from a file."""
    return isinstance(trace, str) and trace.startswith(PREFIX)


def parse_generated(text: str) -> GeneratedTrace | ApplicationTrace:
    """Parse `generated:...`; ValueError."""
    name, *settings = text.removeprefix(PREFIX).split("/")
    if name in APPLICATIONS:
        return ApplicationTrace(name, **_values(settings, OF_APPLICATIONS, FORM_OF_APPLICATIONS))
    if name not in MODELS:
        applications = f"applications are {', '.join(APPLICATIONS)} ({FORM_OF_APPLICATIONS})"
        raise ValueError(f"no machine is called {name!r}; there are {', '.join(MODELS)} ({FORM}); {applications}")
    trace = GeneratedTrace(name, **_values(settings, KEYS, FORM))  # type: ignore[arg-type]
    _ = trace.model  # refuses values that cannot be drawn
    return trace


def _values(settings: Sequence[str], keys: Mapping[str, Kind], form: str) -> dict[str, Any]:
    values: dict[str, int | float | Fraction] = {}
    for setting in settings:
        key, _, value = setting.partition("=")
        if key not in keys or key in values:
            raise ValueError(f"{setting!r} is given twice" if key in values else f"{form} expected, not {setting!r}")
        values[key] = _number(keys[key], key, value)
    return values


Kind = Callable[[str], int | float | Fraction]
KEYS: dict[str, Kind] = {
    "jobs": int,
    "days": float,
    "utilisation": float,
    "seed": int,
    **dict.fromkeys(VARIANTS, float),
}
OF_APPLICATIONS: dict[str, Kind] = {"jobs": int, "beta": Fraction, "ge_p4": int, "seed": int}


def _number(kind: Kind, key: str, text: str) -> int | float | Fraction:
    try:
        value = kind(text)
    except (ValueError, ZeroDivisionError):
        value = -1
    if not 0 <= value < float("inf") or (key == "days" and not 0 < value < MOST_DAYS):
        raise ValueError(f"{key}: {text!r} is not a number that can be used")
    return value


def read_generated(text: str, seed: int, source: str) -> TraceLog:
    """Draw the jobs of a valid `generated:...`; InputError names `source`."""
    try:
        return parse_generated(text).log(seed)
    except InputError as error:
        raise InputError(source, "trace", error.reason) from None


def _as_log(workload: Workload) -> TraceLog:
    """Return the same jobs as a log read from a file."""
    unknown = np.full(len(workload), UNKNOWN, np.int64)
    lines = np.arange(1, len(workload) + 1, dtype=np.int64)
    return TraceLog(
        source=workload.source,
        job_id=workload.job_id,
        submit=workload.submit,
        wait=unknown,
        run=workload.run,
        allocated=workload.nodes,
        requested_procs=workload.nodes,
        requested_time=workload.requested,
        status=np.ones_like(unknown),
        user=unknown,
        line=lines,
    )
