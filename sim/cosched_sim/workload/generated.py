"""Generated traces: `generated:NAME/key=value/...` as a domain's trace draws a workload instead of reading a file.

`fitted:FILE/key=value/...` draws one like a log file.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from cosched.words.errors import InputError
from cosched_sim.workload.applications import APPLICATIONS, ApplicationTrace
from cosched_sim.workload.drawn import drawn_log
from cosched_sim.workload.fitted import FittedTrace
from cosched_sim.workload.generate import generate, swf_header
from cosched_sim.workload.jobs import TraceLog
from cosched_sim.workload.lublin import KEYS as LUBLIN_KEYS
from cosched_sim.workload.lublin import NAME as LUBLIN
from cosched_sim.workload.lublin import LublinTrace
from cosched_sim.workload.machine_models import MODELS, MachineModel, MachineName, varied
from cosched_sim.workload.sdsc import SDSC

PREFIX, FITTED_PREFIX = "generated:", "fitted:"
FORM = "generated:MODEL/jobs=N/days=D/utilisation=U/seed=S"
FORM_OF_APPLICATIONS = "generated:APPLICATION/jobs=N/beta=B/ge_p4=S/seed=S"
FORM_OF_FITTED = "fitted:FILE/jobs=N/nodes=N/load=L/seed=S"
FORM_OF_LUBLIN = f"{PREFIX}{LUBLIN}/KEY=VALUE/... (of {', '.join(LUBLIN_KEYS)})"
FITTED_MODELS = {"sdsc": SDSC}
VARIANTS = ("sessions", "swing", "large", "spread")  # what may be varied of a model
DAY_S = 86_400
MOST_DAYS = 10**6
MOST = 1e300  # larger fractions are not floats


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
        jobs = generate(self.model, jobs=self.jobs, span_s=span_s, utilisation=self.utilisation, seed=seed)
        header = swf_header(self.machine, MODELS[self.machine].nodes, seed)
        return drawn_log(
            jobs.source, submit=jobs.submit, run=jobs.run, size=jobs.nodes, requested=jobs.requested, header=header
        )


def is_generated(trace: object) -> bool:
    """Return whether a domain's trace is drawn rather than read from a file."""
    return isinstance(trace, str) and trace.startswith((PREFIX, FITTED_PREFIX))


def file_of(trace: str) -> str | None:
    """Return the file that a drawn trace is fitted to; None if it needs none."""
    if not trace.startswith(FITTED_PREFIX):
        return None
    return _parts(trace)[0] or None


def with_file(trace: str, path: str) -> str:
    """Return a fitted trace with another file."""
    return "/".join((f"{FITTED_PREFIX}{path}", *_parts(trace)[1]))


def _parts(trace: str) -> tuple[str, list[str]]:
    """Return the file of a fitted trace, and its settings: the last parts that have a "=" or are the last."""
    parts = trace.removeprefix(FITTED_PREFIX).split("/")
    count = len(parts)
    while count > 1 and "=" in parts[count - 1]:
        count -= 1
    return "/".join(parts[:count]), parts[count:]


def parse_generated(text: str) -> GeneratedTrace | ApplicationTrace | FittedTrace | LublinTrace:
    """Parse `generated:...` or `fitted:...`; ValueError."""
    if text.startswith(FITTED_PREFIX):
        file, settings = _parts(text)
        if not file or "=" in file.rpartition("/")[2]:
            raise ValueError(f"{FORM_OF_FITTED} expected, not {text!r}")
        return FittedTrace(file, **_values(settings, OF_FITTED, FORM_OF_FITTED))
    name, *settings = text.removeprefix(PREFIX).split("/")
    if name in APPLICATIONS:
        return ApplicationTrace(name, **_values(settings, OF_APPLICATIONS, FORM_OF_APPLICATIONS))
    if name in FITTED_MODELS:
        form = FORM_OF_FITTED.replace("fitted:FILE", f"{PREFIX}{name}")
        return FittedTrace(FITTED_MODELS[name], **_values(settings, OF_FITTED, form))
    if name == LUBLIN:
        return LublinTrace(**_values(settings, OF_LUBLIN, FORM_OF_LUBLIN))
    if name not in MODELS:
        machines = ", ".join((*MODELS, *FITTED_MODELS))
        applications = f"applications are {', '.join(APPLICATIONS)} ({FORM_OF_APPLICATIONS})"
        others = f"{applications}; or {LUBLIN}, a model"
        raise ValueError(f"no machine is called {name!r}; there are {machines} ({FORM}); {others}")
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
KEYS: dict[str, Kind] = {"jobs": int, "seed": int, **dict.fromkeys(("days", "utilisation", *VARIANTS), float)}
OF_APPLICATIONS: dict[str, Kind] = {"jobs": int, "beta": Fraction, "ge_p4": int, "seed": int}
OF_FITTED: dict[str, Kind] = {"jobs": int, "nodes": int, "load": Fraction, "seed": int}


def _signed(text: str) -> float:
    """Read a number that may be negative."""
    return float(text)


OF_LUBLIN: dict[str, Kind] = {
    **dict.fromkeys(LUBLIN_KEYS, float),
    **dict.fromkeys(("jobs", "nodes", "seed", "day_start"), int),
    **dict.fromkeys(("pa", "pb"), _signed),
}


def _number(kind: Kind, key: str, text: str) -> int | float | Fraction:
    try:
        value = kind(text)
    except (ValueError, ZeroDivisionError):
        value = math.nan
    refused = not -MOST < value < MOST or (value < 0 and kind is not _signed)
    if refused or (key == "days" and not 0 < value < MOST_DAYS):
        raise ValueError(f"{key}: {text!r} is not a number that can be used")
    return value


def read_generated(text: str, seed: int, source: str) -> TraceLog:
    """Draw the jobs of a valid `generated:...` or `fitted:...`; InputError names `source`, or the file."""
    try:
        return parse_generated(text).log(seed)
    except InputError as error:
        if file_of(text) is not None:
            raise
        raise InputError(source, "trace", error.reason) from None
    except ValueError as error:
        raise InputError(source, "trace", str(error)) from None
