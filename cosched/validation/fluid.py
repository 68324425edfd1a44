"""The settings of a fluid domain, and their conversion to settings of the core."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from cosched.core.scheduling.fluid.settings import Distribution, FluidSettings, Harvesting
from cosched.validation.mistakes import KeyedError
from cosched.validation.types import Number, Seconds, Settings, Switch, Whole

OF_FLUID = "only a fluid scheduler has it: give scheduler=fluid, too"
NOT_OF_FLUID = "a fluid scheduler has none: remove it, or give scheduler=batch"
OF_BATCH = ("policy", "backfill", "node_pool", "mate_budget", "yield_boost")


class FluidFields(Settings):
    """Which kind of scheduler a domain has, and the rules of a fluid one (fluid.md); durations as elsewhere."""

    scheduler: Literal["batch", "fluid"] = "batch"
    harvesting: Literal["never", "even", "fair", "long", "short", "low_impact"] = "even"
    distribution: Literal["favor_running", "favor_queued"] = "favor_running"
    level: Annotated[Whole, Field(ge=0)] | None = None
    resizes: Switch = True
    max_harvests: Annotated[Whole, Field(ge=0)] | None = None
    protect_age: Seconds = 0
    benefit: Switch = False
    min_share: Annotated[Number, Field(gt=0, le=1)] = Decimal("0.5")
    model: Literal["linear", "parabolic"] = "linear"
    resize_cost: Seconds = 0

    @model_validator(mode="after")
    def _of_one_kind(self) -> Self:
        wrong: Iterable[str] = OF_BATCH
        if self.is_fluid:
            reason = NOT_OF_FLUID
        else:
            wrong = [key for key in FluidFields.model_fields if key != "scheduler"]
            reason = OF_FLUID
        for key in wrong:
            if key in self.model_fields_set:
                raise KeyedError((key,), reason)
        return self

    @property
    def is_fluid(self) -> bool:
        """Whether running jobs change their size here."""
        return self.scheduler == "fluid"

    @property
    def least_share(self) -> Fraction | None:
        """Down to which share of their size jobs can shrink of which the log does not say it; None: none does."""
        return Fraction(self.min_share) if self.is_fluid else None

    def fluid_settings(self, nodes: int, *, wanted_first: bool = True, slots: bool = False) -> FluidSettings:
        """Return these settings for a machine of so many processors; `wanted_first`, `slots`: see FluidSettings."""
        return FluidSettings(
            nodes=nodes,
            harvesting=Harvesting[self.harvesting.upper()],
            distribution=Distribution(self.distribution),
            level=self.level,
            resizes=self.resizes,
            max_harvests=self.max_harvests,
            protect_age=self.protect_age,
            benefit=self.benefit,
            wanted_first=wanted_first,
            slots=slots,
        )
