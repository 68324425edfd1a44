"""Wrong readings of docs/fluid.md, Slots: each must be caught by some random workload."""

from copy import deepcopy

from .fluid import Job
from .fluid_slots import Slots


class OnPresentSizes(Slots):
    """Running jobs are gone when they are expected to end, though others may take processors from them until then."""

    def end_on_least(self, job: Job) -> int:
        return job.end()


class WithoutCosts(Slots):
    """What resizes cost moves no end."""

    def end_if_started(self, job: Job, at: int) -> int:
        free = Job(job.submit, job.least, job.ideal, job.run, job.parabolic)
        free.number, free.times, free.costs = job.number, job.times, job.costs
        return super().end_if_started(free, at)


class StartsAreFree(Slots):
    """What starts after a booking need not leave it possible."""

    def keeps(self, job: Job) -> bool:  # noqa: ARG002
        return True


class BookedBlock(Slots):
    """A booked job that cannot be had blocks the queue."""

    def _may_be_left_out(self, job: Job) -> bool:  # noqa: ARG002
        return False


class PairsStart(Slots):
    """While iterations run forward, jobs with mates start at their turns."""

    def passes_over(self, other: Job) -> bool:  # noqa: ARG002
        return True


class QuotesAreFirm(Slots):
    """The instant at which iterations start a job is its quote, whether or not it can be booked."""

    def quote(self, job: Job, not_before: int) -> int | None:
        return deepcopy(self).first_start(job.number, not_before)


MISTAKES = (OnPresentSizes, WithoutCosts, StartsAreFree, BookedBlock, PairsStart, QuotesAreFirm)
