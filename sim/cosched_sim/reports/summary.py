"""The parts of summary.json and comparison.json that reports rely on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from cosched.words.errors import InputError

Positive = Annotated[int, Field(gt=0)]


class _Part(BaseModel):
    model_config = ConfigDict(strict=True)


class _Spread(_Part):
    mean: float | None
    median: float | None
    p95: float | None
    p99: float | None
    max: float | None


class _Group(_Part):
    jobs: int
    wait_s: _Spread
    slowdown: _Spread
    bounded_slowdown: _Spread
    sync_s: _Spread


class _Queue(_Part):
    mean: float
    max: int


class _Domain(_Part):
    nodes: Positive
    scheme: str
    policy: str
    backfill: str
    node_pool: str
    jobs: Positive
    rejected: dict[str, int]
    utilisation: float
    offered_load: float | None
    makespan_s: int
    held_node_seconds: int
    held_share: float
    holds: int
    yields: int
    releases: int
    never_started: int
    queue_length: _Queue
    all: _Group
    paired: _Group
    unpaired: _Group


class _Pairs(_Part):
    pairs: int
    together: int
    desynchronised: int
    never: int
    dropped: int
    gap_s: _Spread


class _Summary(_Part):
    version: str
    command: str
    seed: int
    stalled: bool
    script: list[dict[str, int | str]] = []
    domains: Annotated[dict[str, _Domain], Field(min_length=1)]
    pairs: _Pairs


class _Difference(_Part):
    mean: float | None
    ci95: float | None


class _Comparison(_Part):
    version: str
    command: str
    seed: int
    combinations: Annotated[dict[str, _Summary], Field(min_length=1)]
    differences: dict[str, dict[str, dict[str, _Difference]]] = {}


def read_summary(path: Path) -> dict[str, Any]:
    """Read the summary of a replay; InputError names the file, the line or key, and what is wrong."""
    return _read(path, _Summary)


def read_comparison(path: Path) -> dict[str, Any]:
    """Read the summaries of a replay under several schemes, in "combinations"; InputError as `read_summary`."""
    return _read(path, _Comparison)


def _read(path: Path, model: type[_Part]) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(path.read_bytes())
        model.model_validate(found)
    except OSError as error:
        raise InputError(str(path), None, error.strerror or str(error)) from None
    except json.JSONDecodeError as error:
        raise InputError(str(path), error.lineno, f"not JSON: {error.msg}") from None
    except ValidationError as error:
        key = ".".join(map(str, error.errors()[0]["loc"])) or None
        raise InputError(str(path), key, "missing or of a wrong type: is this a replay's summary?") from None
    except (ValueError, RecursionError) as error:
        raise InputError(str(path), None, f"not JSON: {error}") from None
    return found
