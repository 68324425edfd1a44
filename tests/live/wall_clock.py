"""The wall clock of a service under test, which can be set."""

import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from cosched.client import Job
from tests.live import clock_shifted
from tests.live.services import Service, wait_until

READING = timedelta(seconds=2)  # by which two readings of clocks that show whole seconds differ at most


class Clock:
    """The wall clock of a service, which can be set."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self._file = service.folder / "ahead"
        self.set(0)
        service.wrapper = (sys.executable, clock_shifted.__file__, str(self._file))

    def set(self, ahead: float) -> None:
        """Set it to so many seconds ahead of the host's."""
        fresh = self._file.with_suffix(".new")
        fresh.write_text(str(ahead))
        fresh.rename(self._file)
        self._ahead = timedelta(seconds=ahead)

    def is_shown(self) -> bool:
        """Whether the service shows the time that it is by this clock."""
        with self.service.client() as client:
            before = datetime.now(UTC)
            shown = client.domain().now - self._ahead
            return before - READING <= shown <= datetime.now(UTC) + READING

    def job(self, job: Job) -> Job:
        """The job as its service shows it now."""
        with self.service.client() as client:
            return client.job(job)

    def wait_for(self, job: Job, true: Callable[[Job], bool]) -> None:
        """Wait until this is true of the job."""
        wait_until(lambda: true(self.job(job)), f"job {job}")
