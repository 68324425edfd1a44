"""What is known of one job that names a mate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cosched_adapters import batch_job
from cosched_adapters.gridengine.gates import Gate
from cosched_adapters.mate_fields import find

ON_RECORD = (
    "job_id", "owner", "words", "nodes", "submitted", "name", "time_limit", "account", "run", "started", "kept_back",
    "given_back", "deleted",
)  # fmt: skip


@dataclass(eq=False, kw_only=True)
class BatchJob(batch_job.BatchJob):
    """A job that names a mate; `missed` is by the loop's clock. `ON_RECORD` outlives the service."""

    words: dict[str, str]  # by which it names its mate
    run: str = ""  # the run that was let go; empty: none
    kept_back: float = 0.0  # until when we keep it back, in seconds since 1970
    given_back: str = ""  # the last turn that we have given back (JobRow.turn)
    deleted: bool = False  # somebody has deleted it: it did not fail
    gate: Gate | None = None  # while its prolog waits
    missed: float | None = None  # when a look first missed it
    ending: bool = False  # it is about to be gone, and looked for until it is

    def record(self) -> dict[str, Any]:
        """Return what is kept of it."""
        return {name: getattr(self, name) for name in ON_RECORD}


def of_record(record: Mapping[str, Any]) -> BatchJob:
    """Return the job that was kept. TypeError, KeyError, WordError: this is not a job's record."""
    return BatchJob(**{name: record[name] for name in ON_RECORD if name in record}, named=find(record["words"]))
