"""RunTimesService: how long jobs of a class run on a resource, as was learned; corrections by operators; the site."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import grpc
from google.protobuf.duration_pb2 import Duration

from cosched.core.scheduling.run_times import LONGEST, Origin, Pair, Runs, RunTimes, Source
from cosched.service.api.answering import ApiFor, Context, answered, requested
from cosched.service.api.domain_api import Serving
from cosched.service.api.requests import checked_reader
from cosched.service.wire.errors import Refusal
from cosched.service.wire.fields import FieldError, check_text
from cosched.v1 import run_times_pb2 as wire
from cosched.v1.run_times_pb2_grpc import RunTimesServiceServicer

MOST = 10_000  # corrections
MAX_NAME = 256
BY = {  # which parts of its origin tell a run from others
    wire.RUN_TIMES_BY_UNSPECIFIED: ("job_class", "resource"),
    wire.RUN_TIMES_BY_PAIR: ("job_class", "resource"),
    wire.RUN_TIMES_BY_CLASS: ("job_class",),
    wire.RUN_TIMES_BY_RESOURCE: ("resource",),
    wire.RUN_TIMES_BY_USER: ("owner", "queue"),
}
SOURCES = {
    Source.RUNS: wire.RUN_TIME_SOURCE_RUNS,
    Source.STATED: wire.RUN_TIME_SOURCE_STATED,
    Source.KIND: wire.RUN_TIME_SOURCE_KIND,
}
NOBODY = Origin("", "", "", "")


class RunTimesApi(ApiFor[Serving], RunTimesServiceServicer):
    """The API for callers of one listener."""

    @answered
    async def ListRunTimes(self, request: wire.ListRunTimesRequest, context: Context) -> wire.ListRunTimesResponse:
        checked_reader(self.domain, self._identify(context))
        if (by := BY.get(request.by)) is None:
            raise FieldError("by", "is not known here")
        return wire.ListRunTimesResponse(run_times=listed(self._times(), by))

    @answered
    async def CorrectRunTimes(
        self, request: wire.CorrectRunTimesRequest, context: Context
    ) -> wire.CorrectRunTimesResponse:
        with requested(self._serving.requests, self._identify(context), request) as user_request:
            times = self._times()
            corrections, runs = checked(request.corrections), checked_runs(request.runs)
            for pair in (*(pair for pair, seconds in corrections.items() if seconds), *(of.pair for of in runs)):
                if times.is_impossible(pair):
                    said = f"{pair.job_class} cannot run on {pair.resource}: the site's file of times says where it can"
                    raise Refusal(grpc.StatusCode.FAILED_PRECONDITION, "NO_SUCH_RESOURCE", said)
            self._serving.domain_operations.correct(user_request, times, corrections, runs)
        return wire.CorrectRunTimesResponse()

    @answered
    async def DescribeSite(self, request: wire.DescribeSiteRequest, context: Context) -> wire.DescribeSiteResponse:  # noqa: ARG002
        checked_reader(self.domain, self._identify(context))
        if not self.domain.scheduler.site_tables:
            said = f"{self.domain.kind.title} has no site: its nodes are alike"
            raise Refusal(grpc.StatusCode.UNIMPLEMENTED, "NO_SITE", said)
        told = wire.DescribeSiteResponse()
        for name, (columns, rows) in self.domain.store.site().items():
            table = told.tables.add(name=name, columns=columns)
            for row in rows:
                table.rows.add(cells=("" if cell is None else str(cell) for cell in row))
        return told

    def _times(self) -> RunTimes:
        if (times := self.domain.scheduler.run_times) is not None:
            return times
        raise Refusal(grpc.StatusCode.UNIMPLEMENTED, "NO_RUN_TIMES", f"{self.domain.kind.title} learns no run times")


def listed(times: RunTimes, by: tuple[str, ...]) -> list[wire.RunTime]:
    """Return the run times, in sums of those that are alike in these parts of their origin."""
    sums: dict[Origin, Runs] = {}
    if by == Pair._fields:
        sums = {NOBODY._replace(**pair._asdict()): Runs() for pair in times.pairs()}
    for origin, runs in times.by_origin():
        alike = NOBODY._replace(**{part: getattr(origin, part) for part in by})
        sums.setdefault(alike, Runs()).include(runs)
    told = [_told(origin, sums[origin]) for origin in sorted(sums)]
    for message in told if by == Pair._fields else ():
        _expect(message, times)
    return told


def _told(origin: Origin, runs: Runs) -> wire.RunTime:
    message = wire.RunTime(
        job_class=origin.job_class, resource=origin.resource, user=origin.owner, queue=origin.queue, runs=runs.count
    )
    if runs.count:
        message.mean.CopyFrom(Duration(seconds=runs.mean))
        for name, share in (("tenth", 0.1), ("median", 0.5), ("ninetieth", 0.9)):
            getattr(message, name).CopyFrom(Duration(seconds=runs.quantile(share)))
    if (variance := runs.variance) is not None:
        message.standard_deviation = variance**0.5
    return message


def _expect(message: wire.RunTime, times: RunTimes) -> None:
    """Say what is expected of a job class on a resource, for which something is known."""
    pair = Pair(message.job_class, message.resource)
    expected = times.predict(pair, 0)
    message.expected.CopyFrom(Duration(seconds=expected.seconds))
    message.source = SOURCES[expected.source]
    if expected.spread is not None:
        message.spread = expected.spread
    if (stated := times.stated(pair)) is not None:
        message.stated.CopyFrom(Duration(seconds=stated))


def checked_runs(learned: Iterable[wire.LearnedRuns]) -> dict[Origin, Runs]:
    """Return the runs by their origins; FieldError."""
    checked: dict[Origin, Runs] = {}
    for number, told in enumerate(learned):
        field = f"runs[{number}]"
        if number == MOST:
            raise FieldError("runs", f"are more than {MOST:,}")
        names = ("job_class", "resource", "user", "queue")
        origin = Origin(*(check_text(f"{field}.{name}", getattr(told, name), MAX_NAME) for name in names))
        if origin in checked:
            raise FieldError(field, f"has the same origin as {[*checked].index(origin)}")
        checked[origin] = _checked_sums(field, told)
    return checked


def _checked_sums(field: str, told: wire.LearnedRuns) -> Runs:
    """Return the sums of runs that there can be: all of them in the histogram, and their variance not negative."""
    histogram, count = Counter(told.histogram), sum(told.histogram.values())
    if not all(0 <= value <= LONGEST and times > 0 for value, times in histogram.items()) or not histogram:
        raise FieldError(f"{field}.histogram", "has no runs, or impossible ones")
    least = sum(value * times for value, times in histogram.items())
    if not (told.squares.isascii() and told.squares.isdecimal() and len(told.squares) <= MAX_NAME):
        raise FieldError(f"{field}.squares", "is not a decimal number")
    if not least <= told.total <= LONGEST * count or count * int(told.squares) < told.total**2:
        raise FieldError(f"{field}.total", "and squares are not those of the runs in the histogram")
    return Runs(count, told.total, int(told.squares), histogram)


def checked(corrections: Iterable[wire.RunTimeCorrection]) -> dict[Pair, int | None]:
    """Return what is stated by job class and resource; FieldError."""
    checked: dict[Pair, int | None] = {}
    for number, correction in enumerate(corrections):
        field = f"corrections[{number}]"
        if number == MOST:
            raise FieldError("corrections", f"are more than {MOST:,}")
        job_class = check_text(f"{field}.job_class", correction.job_class, MAX_NAME)
        pair = Pair(job_class, check_text(f"{field}.resource", correction.resource, MAX_NAME))
        if pair in checked:
            raise FieldError(field, f"is about the same job class and resource as {[*checked].index(pair)}")
        stated = correction.stated if correction.HasField("stated") else None
        if stated is not None and (stated.nanos or not 1 <= stated.seconds <= LONGEST):
            raise FieldError(f"{field}.stated", f"is not a whole number of seconds from 1 to {LONGEST}")
        checked[pair] = None if stated is None else stated.seconds
    return checked
