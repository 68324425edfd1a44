"""The settings of a replay: one checked model for flags, TOML files and the Python API."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError, model_validator

from cosched.core.protocol import MAX_MEMBERS
from cosched.schedulers.keys import SchedulerKeys, check_place
from cosched.schedulers.kind import MachineSettings
from cosched.validation.mistakes import KeyedError
from cosched.validation.sections import CoschedulingFields
from cosched.validation.toml import read_toml as read_toml
from cosched.validation.types import GroupSize, Number, Seconds, Settings, Whole
from cosched_sim.mistakes import Locate, input_error, inside
from cosched_sim.workload.job_log import JobLog, Overrun

MOST_DOMAINS = 1024


class Domain(CoschedulingFields, SchedulerKeys, JobLog):
    """One policy domain of a replay: a job log and its settings. Durations are seconds or text such as '20m'."""

    @model_validator(mode="before")
    @classmethod
    def _tells_no_owners_apart(cls, values: Any) -> Any:
        if isinstance(values, dict) and "mate_budget_share" in values:
            reason = "only a service can bound the share of a user's jobs: a replay does not tell users apart"
            raise KeyedError(("mate_budget_share",), reason)
        return values

    @model_validator(mode="after")
    def _coherent(self) -> Domain:
        check_place(self, self.scheduler_kind, replays=True)
        partitions = self.partitions
        if partitions and self.nodes not in (None, partitions.nodes):
            raise ValueError(f"nodes: {self.node_pool} has {partitions.nodes} nodes, not {self.nodes}")
        return self

    def machine_settings(self, nodes: int) -> MachineSettings:
        """Return these settings for the scheduler of a machine of `nodes` nodes."""
        return self.scheduler_kind.settings(self, nodes, self)


class ReplayConfig(Settings):
    """A whole replay: its domains, at most one way to choose mates, and scripted events."""

    domains: Annotated[tuple[Domain, ...], Field(min_length=1, max_length=MOST_DOMAINS)]
    pairs: str | Path | None = None
    pair_window: Seconds | None = None
    pair_fraction: Annotated[Number, Field(ge=0, le=1)] | None = None
    group_size: GroupSize | None = None
    seed: Annotated[Whole, Field(ge=0)] = 0
    overrun: Overrun = "extend"
    script: str | Path | None = None  # a file, or the lines themselves
    events: bool = False

    @model_validator(mode="after")
    def _coherent(self) -> ReplayConfig:
        names = [domain.name for domain in self.domains]
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise ValueError(f"domain {twice[0]!r} occurs twice")
        if sum(way is not None for way in (self.pairs, self.pair_window, self.pair_fraction)) > 1:
            raise ValueError("pairs, pair_window and pair_fraction exclude each other")
        if self.group_size is not None and self.pair_fraction is None:
            raise ValueError("group_size: needs pair_fraction, the share of the jobs that are in groups")
        if self.group_size is not None and (most := self.group_size[-1]) > len(names):
            raise ValueError(f"group_size: {most} jobs are on {most} domains, but there are {len(names)}")
        for key in ("pair_window", "pair_fraction") if self.group_size is None else ():
            if getattr(self, key) is not None and not 2 <= len(names) <= MAX_MEMBERS:
                many = "; group_size takes some of more" if key == "pair_fraction" and len(names) > 1 else ""
                raise ValueError(f"{key}: pairs jobs of 2 to {MAX_MEMBERS} domains, but there are {len(names)}{many}")
        if [self.pairs, *(domain.trace for domain in self.domains)].count("-") > 1:
            raise ValueError("standard input ('-') can be read only once")
        return self


def replay_config(source: str | Locate, values: dict[str, Any]) -> ReplayConfig:
    """Check `values`; InputError names `source` (or the place it returns for the mistake), the key and the reason."""
    try:
        return ReplayConfig(**values)
    except ValidationError as error:
        locate = inside(source) if isinstance(source, str) else source
        raise input_error(error, locate, values, ReplayConfig, Domain) from None
