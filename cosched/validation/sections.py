"""The settings common to all policy domains, simulated or live, and their conversion to settings of the core."""

from __future__ import annotations

from decimal import Decimal
from typing import Self

from pydantic import model_validator

from cosched.core.settings import CoschedulingSettings, OnMemberLost, OnMemberRequeued, OnUnreachable, ReleaseOrder
from cosched.validation.schemes import NOT_MEETING, PRESET, Meeting, SchemeChoice
from cosched.validation.types import MateBudget, Number, Seconds, Settings, Switch, Whole


class CoschedulingFields(Settings):
    """Algorithm 1's scheme and its enhancements (coscheduling.md); durations are seconds or text such as '20m'."""

    scheme: SchemeChoice = SchemeChoice.HOLD
    mate_budget: MateBudget | None = None  # None, here and of `slots`: as the scheme says
    slots: Switch | None = None
    release_interval: Seconds = 1200
    release_jitter: Number = Decimal("0.25")
    release_order: ReleaseOrder = ReleaseOrder.WANTED
    max_held_fraction: Number = Decimal("0.5")
    max_yields: Whole = 0
    yield_boost: Number = Decimal(0)
    on_peer_unreachable: OnUnreachable = OnUnreachable.START
    peer_grace: Seconds = 0
    mate_patience: Seconds | None = None
    on_member_lost: OnMemberLost = OnMemberLost.START
    successor_patience: Seconds = 0
    successor_hold: Seconds = 0
    on_member_requeued: OnMemberRequeued = OnMemberRequeued.CONTINUE
    max_requeues: Whole = 3

    @model_validator(mode="after")
    def _within_range(self) -> Self:
        self.coscheduling_settings()
        return self

    def coscheduling_settings(self) -> CoschedulingSettings:
        """Return these settings for the core; ValueError, `KEY: reason`, for a value out of range."""
        names = CoschedulingSettings.__dataclass_fields__.keys() & type(self).model_fields.keys()
        values = {name: getattr(self, name) for name in names}
        scheme = self.scheme if self.coschedules else SchemeChoice.OFF
        values |= {"scheme": scheme.core, "slots": self.meeting.slots}
        return CoschedulingSettings(**values)

    @property
    def coschedules(self) -> bool:
        """Whether jobs of this domain have mates."""
        return self.scheme is not SchemeChoice.OFF

    @property
    def meeting(self) -> Meeting:
        """How pairs meet, for scheduler and coscheduling alike: not at all without coscheduling."""
        return self.meeting_if_on if self.coschedules else NOT_MEETING

    @property
    def meeting_texts(self) -> dict[str, str]:
        """The settings of `meeting` as texts; nothing for a scheme of the paper."""
        return self.meeting.texts if self.meeting or self.scheme is SchemeChoice.MEET else {}

    @property
    def meeting_if_on(self) -> Meeting:
        """How pairs meet while coscheduling is on: as given, else by the scheme."""
        preset = PRESET if self.scheme is SchemeChoice.MEET else NOT_MEETING
        budget = preset.mate_budget if self.mate_budget is None else self.mate_budget
        return Meeting(budget, preset.slots if self.slots is None else self.slots)
