"""What a replay is asked to do, checked: one model for flags, TOML files and the Python API."""

from __future__ import annotations

import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from cosched.core.cluster import ClusterSettings
from cosched.core.nodes import Partitions, parse_node_pool
from cosched.core.policies.backfilling import BACKFILLING
from cosched.core.policies.ordering import parse_ordering
from cosched.core.settings import CoschedulingSettings, OnUnreachable, ReleaseOrder, Scheme
from cosched.durations import parse_seconds, parse_window
from cosched.errors import InputError
from sim.mistakes import Locate, input_error, inside
from sim.workload import Workload

MAX_NODES = 10**9


def _seconds(value: object) -> object:
    return parse_seconds(value) if isinstance(value, str) else _no_bool(value)


def _window(value: object) -> object:
    return value if isinstance(value, tuple) else parse_window(str(value))


def _no_bool(value: object) -> object:
    """Python takes true for 1, a user does not."""
    if isinstance(value, bool):
        raise ValueError(f"a number is expected, not {str(value).lower()}")
    return value


Whole = Annotated[int, BeforeValidator(_no_bool)]
Number = Annotated[Decimal, BeforeValidator(_no_bool)]
Seconds = Annotated[int, BeforeValidator(_seconds), Field(ge=0)]
Window = Annotated[tuple[int | None, int | None], BeforeValidator(_window)]


class _Settings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)


class Domain(_Settings):
    """One policy domain of a replay: a job log (file, '-': standard input, or a Workload) and its settings.

    Durations are seconds or text such as '20m'. `cut` keeps what is submitted in a time window ('0..20d');
    `load` scales the arrivals to an offered load, `scale` multiplies the times between them.
    """

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,64}$")]
    trace: str | Path | Workload
    format: Literal["swf", "accounting", "sacct", "csv"] | None = None
    nodes: Annotated[Whole, Field(ge=1, le=MAX_NODES)] | None = None
    procs_per_node: Annotated[Whole, Field(ge=1, le=MAX_NODES)] = 1
    cut: Window | None = None
    load: Annotated[Number, Field(gt=0)] | None = None
    scale: Annotated[Number, Field(gt=0)] | None = None
    policy: str = "wfp"
    backfill: Literal["easy", "conservative", "none"] = "easy"
    node_pool: str = "flat"
    scheme: Scheme = Scheme.HOLD
    release_interval: Seconds = 1200
    release_jitter: Number = Decimal("0.25")
    release_order: ReleaseOrder = ReleaseOrder.WANTED
    max_held_fraction: Number = Decimal("0.5")
    max_yields: Whole = 0
    yield_boost: Number = Decimal(0)
    on_peer_unreachable: OnUnreachable = OnUnreachable.START
    mate_patience: Seconds | None = None

    @field_validator("policy")
    @classmethod
    def _policy_exists(cls, value: str) -> str:
        parse_ordering(value)
        return value

    @field_validator("node_pool")
    @classmethod
    def _node_pool_exists(cls, value: str) -> str:
        parse_node_pool(value)
        return value

    @model_validator(mode="after")
    def _coherent(self) -> Domain:
        if self.load is not None and self.scale is not None:
            raise ValueError("load and scale exclude each other")
        partitions = self.partitions
        if partitions and self.nodes not in (None, partitions.nodes):
            raise ValueError(f"nodes: {self.node_pool} has {partitions.nodes} nodes, not {self.nodes}")
        self.coscheduling_settings()
        return self

    @property
    def partitions(self) -> Partitions | None:
        """The partitions of a partitioned node pool; None for a flat one."""
        return parse_node_pool(self.node_pool)

    def coscheduling_settings(self) -> CoschedulingSettings:
        """These settings for the core."""
        names = CoschedulingSettings.__dataclass_fields__.keys() & type(self).model_fields.keys()
        return CoschedulingSettings(**{name: getattr(self, name) for name in names})

    def cluster_settings(self, nodes: int) -> ClusterSettings:
        """These settings for the embedded scheduler of a machine of `nodes` nodes."""
        return ClusterSettings(
            nodes=nodes,
            ordering=parse_ordering(self.policy),
            backfilling=BACKFILLING[self.backfill],
            partitions=self.partitions,
            wanted_first=self.release_order is ReleaseOrder.WANTED,
        )


class ReplayConfig(_Settings):
    """A whole replay: its domains, one way (or none) to say who are mates, and what else happens."""

    domains: Annotated[tuple[Domain, ...], Field(min_length=1, max_length=64)]
    pairs: str | Path | None = None
    pair_window: Seconds | None = None
    pair_fraction: Annotated[Number, Field(ge=0, le=1)] | None = None
    seed: Annotated[Whole, Field(ge=0)] = 0
    overrun: Literal["extend", "kill"] = "extend"
    script: str | Path | None = None
    events: bool = False

    @model_validator(mode="after")
    def _coherent(self) -> ReplayConfig:
        names = [domain.name for domain in self.domains]
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise ValueError(f"domain {twice[0]!r} is there twice")
        if sum(way is not None for way in (self.pairs, self.pair_window, self.pair_fraction)) > 1:
            raise ValueError("pairs, pair_window and pair_fraction exclude each other")
        for key in ("pair_window", "pair_fraction"):
            if getattr(self, key) is not None and len(names) != 2:
                raise ValueError(f"{key}: pairs the jobs of two domains, but there are {len(names)}")
        if [self.pairs, *(domain.trace for domain in self.domains)].count("-") > 1:
            raise ValueError("standard input ('-') can be read only once")
        return self


def read_toml(path: str) -> dict[str, Any]:
    """The keys of a TOML file; InputError with the line if it is none."""
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(path, None, f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(path, None, "not a text file") from None
    except tomllib.TOMLDecodeError as error:
        reason, _, line = str(error).partition(" (at line ")
        raise InputError(path, int(line.split(",")[0]) if line else None, reason) from None


def replay_config(source: str | Locate, values: dict[str, Any]) -> ReplayConfig:
    """Check `values`; InputError names `source` (or where that says), the key and the reason of a mistake."""
    try:
        return ReplayConfig(**values)
    except ValidationError as error:
        locate = inside(source) if isinstance(source, str) else source
        raise input_error(error, locate, values, ReplayConfig, Domain) from None
