"""A scheduler that learns how long jobs run: those of one owner are of one class, and all run on one machine."""

from __future__ import annotations

from cosched.core.protocol import JobId
from cosched.core.scheduling.plain import PlainScheduler
from cosched.core.scheduling.run_times import Origin, RunTimes


class Learning(PlainScheduler):
    """Learns, and expects what jobs ask for nevertheless."""

    def __init__(self, nodes: int) -> None:
        super().__init__(nodes)
        self.run_times = RunTimes()

    def learn(self, job: JobId, seconds: int) -> None:
        owner = self.jobs[job].asked.owner
        self.run_times.learn(Origin(f"of {owner}", "machine", owner, "low"), seconds)
