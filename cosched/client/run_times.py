"""How long jobs of a class run on a resource, a machine or a cluster."""

from __future__ import annotations

from datetime import timedelta

from cosched.client.view import View, span, word, words
from cosched.v1 import run_times_pb2

RUN_TIMES_BY = words(run_times_pb2.RunTimesBy, "RUN_TIMES_BY_")
_SOURCES = words(run_times_pb2.RunTimeSource, "RUN_TIME_SOURCE_")


class RunTime(View[run_times_pb2.RunTime]):
    """Completed runs, and what is expected of the next. Preempted and failed runs do not count."""

    __slots__ = ()

    @property
    def job_class(self) -> str:
        """Empty: of all job classes."""
        return self._message.job_class

    @property
    def resource(self) -> str:
        """A machine or a cluster; empty: of all."""
        return self._message.resource

    @property
    def user(self) -> str:
        """Empty: of all users."""
        return self._message.user

    @property
    def queue(self) -> str:
        """Empty: from all queues."""
        return self._message.queue

    @property
    def runs(self) -> int:
        """How many runs have completed."""
        return self._message.runs

    @property
    def mean(self) -> timedelta | None:
        """Rounded to seconds; None: there is no run."""
        return span(self._message, "mean")

    @property
    def standard_deviation(self) -> float | None:
        """In seconds; None: fewer than two runs."""
        return self._message.standard_deviation if self._message.HasField("standard_deviation") else None

    @property
    def tenth(self) -> timedelta | None:
        """A tenth of the runs is not longer; above 128 s it is up to a 64th too low."""
        return span(self._message, "tenth")

    @property
    def median(self) -> timedelta | None:
        """Half of the runs are not longer; above 128 s it is up to a 64th too low."""
        return span(self._message, "median")

    @property
    def ninetieth(self) -> timedelta | None:
        """Nine tenths of the runs are not longer; above 128 s it is up to a 64th too low."""
        return span(self._message, "ninetieth")

    @property
    def stated(self) -> timedelta | None:
        """What was stated; it counts while there are no runs."""
        return span(self._message, "stated")

    @property
    def expected(self) -> timedelta | None:
        """What is expected of the next run; None: this is a sum of several job classes or resources."""
        return span(self._message, "expected")

    @property
    def source(self) -> str | None:
        """From what it is expected: `runs`, `stated`, or `kind`, runs on resources of the same kind."""
        return word(_SOURCES, self._message.source)

    @property
    def spread(self) -> float | None:
        """The standard deviation of the next run from what is expected, in seconds; None: not known."""
        return self._message.spread if self._message.HasField("spread") else None
