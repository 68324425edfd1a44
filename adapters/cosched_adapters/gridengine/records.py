"""What must outlive the service of each job with a mate: one file each, written before what it says is done.

A held job and a running one look alike to Grid Engine. Before a prolog is told to let its job start, the file has this
run of it; before a job is held back, the file says so. A file stays until the job's end has been forgotten.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator
from pathlib import Path

from cosched.words.file_errors import reason_of
from cosched_adapters.gridengine.batch_job import BatchJob, of_record
from cosched_adapters.manager import ManagerError

_LOG = logging.getLogger(__name__)


class Records:
    """The files in `folder`, which is made."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def open(self) -> Iterator[BatchJob]:
        """Yield what an earlier service has kept. ManagerError: the folder cannot be used."""
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            paths = sorted(self._folder.glob("*.json"))
        except OSError as error:
            raise ManagerError(f"{self._folder}: {reason_of(error, self._folder)}") from error
        for path in paths:
            try:
                yield of_record(json.loads(path.read_text()))
            except (OSError, ValueError, TypeError, KeyError) as error:
                _LOG.warning("%s is not a job's record, and is left out: %s", path, error)

    def keep(self, job: BatchJob) -> None:
        """Write a job's file; it is on disk on return. ManagerError."""
        path = self._folder / f"{job.job_id}.json"
        aside = path.with_suffix(".new")
        try:
            with aside.open("w") as file:
                json.dump(job.record(), file)
                file.flush()
                os.fsync(file.fileno())
            aside.rename(path)
        except OSError as error:
            raise ManagerError(f"{path}: {reason_of(error, path)}") from error

    def drop(self, job_id: str) -> None:
        """Remove a job's file."""
        (self._folder / f"{job_id}.json").unlink(missing_ok=True)
