"""One of the two domains of a demonstration, whatever schedules its jobs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path

from deploy.lab.service import Service


class Place(ABC):
    """A cluster and its service; `notes` is a folder in which jobs can write, `command` shows the queue."""

    command: str

    def __init__(self, name: str, service: Service, notes: Path) -> None:
        self.name, self.service, self.notes = name, service, notes

    @abstractmethod
    def submit(self, script: str, nodes: int, name: str, pair: str = "") -> str:
        """Submit the lines of a shell script; return the job's id."""

    @abstractmethod
    def wait_until_it_runs(self, job: str) -> None:
        """Wait until the batch system has started a job."""

    @abstractmethod
    def queue(self) -> str:
        """Return what the batch system shows of its queue."""

    @property
    @abstractmethod
    def logs(self) -> list[Path]:
        """The logs of the batch system's daemon and of the service."""
