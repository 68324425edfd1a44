"""What each user has in a domain: jobs that have not ended, and what their scripts take in the database."""

from __future__ import annotations

from collections import Counter

from cosched.service.store import JobRecord


class Holdings:
    """Those of all users."""

    def __init__(self) -> None:
        self._jobs: Counter[str] = Counter()
        self._bytes: Counter[str] = Counter()
        self._of_job: dict[int, int] = {}  # bytes

    def add(self, job: JobRecord, size: int) -> None:
        """Note that the job is here, with a script of so many bytes."""
        self._jobs[job.owner] += 1
        self._bytes[job.owner] += size
        self._of_job[job.id] = size

    def remove(self, job: JobRecord) -> None:
        """Note that the job has ended."""
        self._jobs[job.owner] -= 1
        self._bytes[job.owner] -= self._of_job.pop(job.id)
        if not self._jobs[job.owner]:
            del self._jobs[job.owner], self._bytes[job.owner]

    def of(self, owner: str) -> tuple[int, int]:
        """Return how many jobs of this owner have not ended, and what their scripts take."""
        return self._jobs[owner], self._bytes[owner]
