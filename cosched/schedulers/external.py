"""A batch system that schedules by itself; its manager chooses this kind, and has all of its keys (adapters)."""

from __future__ import annotations

from typing import Any

from cosched.core.scheduling.capabilities import Capabilities
from cosched.core.scheduling.external import ExternalScheduler
from cosched.core.scheduling.external_meeting import ExternalSettings
from cosched.core.scheduling.scheduler import ClusterJob, OpenScheduler
from cosched.schedulers.kind import SchedulerKind
from cosched.schedulers.waits import SHORTER, Waits
from cosched.validation.sections import CoschedulingFields
from cosched.validation.types import Settings

OF_THE_QUEUE = ("Resources", "Priority")  # Slurm's words for a job that just waits for its turn


class ExternalKind(SchedulerKind):
    """See SchedulerKind."""

    name = "external"
    purpose = "a batch system schedules by itself"
    keys = Settings
    capabilities = Capabilities(all_jobs=False, slots=True)
    of_batch_systems = True

    def settings(self, keys: Any, nodes: int, coscheduling: CoschedulingFields) -> ExternalSettings:
        """See SchedulerKind; the section of its manager says whether jobs can name groups."""
        meeting = coscheduling.meeting
        return ExternalSettings(nodes, keys.takes_groups, meeting.slots, meeting.mate_budget, meeting.mate_budget_share)

    def open(self, settings: ExternalSettings) -> ExternalScheduler:
        return ExternalScheduler(settings)

    def why(self, scheduler: OpenScheduler, job: ClusterJob, ahead: int, word: str) -> Waits:  # noqa: ARG002
        change = SHORTER if word in OF_THE_QUEUE else "the batch system's own commands tell more of the job"
        said = f"the batch system lets it wait{f': {word}' if word else ''}"
        return Waits("batch_system_says", said, change, {"word": word})


EXTERNAL = ExternalKind()
