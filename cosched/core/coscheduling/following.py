"""Running jobs follow others: they end with them, or are queued again with them (life.md, 3 and 4)."""

from __future__ import annotations

from dataclasses import dataclass

from cosched.core.coscheduling.ledger import Ledger, PairedJob
from cosched.core.effects import Effect
from cosched.core.events import CallFailed
from cosched.core.protocol import Domain, MateStatus


@dataclass
class Following:
    """What running jobs do when others have changed."""

    ledger: Ledger

    def changed(self, job: PairedJob, peer: Domain, now: int) -> list[Effect]:  # noqa: ARG002
        """The member there has changed."""
        return []

    def told(self, job: PairedJob, peer: Domain, status: MateStatus, now: int) -> list[Effect]:  # noqa: ARG002
        """How the member there stands."""
        return []

    def failed(self, job: PairedJob, event: CallFailed, now: int) -> list[Effect]:  # noqa: ARG002
        """No answer."""
        return []
