"""AdaptiveService: running jobs learn which nodes are theirs, and say which they use."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import grpc
from google.protobuf.duration_pb2 import Duration

from cosched.core.job import JobState
from cosched.service.api.answering import ApiFor, Context, answered
from cosched.service.api.operations import Operations
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.domain.malleable import least_of
from cosched.service.domain.predictions import MOST_SIZES, Prediction
from cosched.service.domain.sizing import Iterations, Sizing
from cosched.service.manager.resizes import Resizes
from cosched.service.store import JobRecord
from cosched.service.wire.callers import Caller
from cosched.service.wire.errors import Refusal
from cosched.service.wire.fields import FieldError
from cosched.v1 import adaptive_pb2 as wire
from cosched.v1 import coscheduling_pb2, job_pb2
from cosched.v1.adaptive_pb2_grpc import AdaptiveServiceServicer

LONGEST = 1e9  # seconds that an iteration, or an adaptation, may take


@dataclass(frozen=True, slots=True)
class Adaptive:
    """The parts of a service that this API uses."""

    domain: LiveDomain
    operations: Operations
    resizes: Resizes


class AdaptiveApi(ApiFor[Adaptive], AdaptiveServiceServicer):
    """The API for callers of the Unix socket."""

    @answered
    async def ReachBoundary(self, request: wire.ReachBoundaryRequest, context: Context) -> wire.ReachBoundaryResponse:
        record = self._own_job(self._identify(context), request.job)
        job, sizing = str(record.id), self._sizing(record)
        if not 0 <= request.acknowledged <= sizing.generation:
            raise FieldError("acknowledged", f"job {job} was never given node set {request.acknowledged}")
        if request.HasField("past"):
            self.domain.sizes.measured[job] = _checked(request.past)
        if request.acknowledged == sizing.generation and not sizing.settled:
            with self.domain.turns.take():
                self.domain.sizes.acknowledge(job, request.acknowledged)
            await self._serving.resizes.settle()
            sizing = self._sizing(record)
        return self._told(record, sizing)

    @answered
    async def TellPredictions(
        self, request: wire.TellPredictionsRequest, context: Context
    ) -> wire.TellPredictionsResponse:
        record = self._own_job(self._identify(context), request.job)
        self._sizing(record)
        told = checked_predictions(request.predictions, least_of(record), record.nodes)
        job = str(record.id)
        if tuple(told) != self.domain.sizes.predicted(record) and job not in self.domain.aside:
            with self.domain.turns.take():
                try:
                    self.domain.predict(job, told)
                except ValueError as error:
                    said = f"what job {job} predicts cannot be counted: {error}"
                    raise Refusal(grpc.StatusCode.FAILED_PRECONDITION, "NO_PREDICTIONS", said) from None
        return wire.TellPredictionsResponse()

    def _own_job(self, caller: Caller, ref: coscheduling_pb2.JobRef) -> JobRecord:
        """Return the job, which runs; Refusal if the caller may not speak for it."""
        record = self._serving.operations.jobs.of_caller(caller, ref, "speak for")
        if record.state is not JobState.RUNNING:
            said = f"job {record.id} is {record.state.name}: only a job that runs has nodes"
            raise Refusal(grpc.StatusCode.FAILED_PRECONDITION, "JOB_STATE", said, {"state": record.state.name})
        return record

    def _sizing(self, record: JobRecord) -> Sizing:
        sizing = self.domain.sizes.of(str(record.id))
        if sizing is None:
            said = f"the size of job {record.id} does not change: submit it with --least"
            raise Refusal(grpc.StatusCode.FAILED_PRECONDITION, "RIGID", said)
        return sizing

    def _told(self, record: JobRecord, sizing: Sizing) -> wire.ReachBoundaryResponse:
        nodes = sizing.names or self._serving.resizes.occupied(str(record.id))
        message = wire.ReachBoundaryResponse(adaptation=_adaptation(sizing), generation=sizing.generation, nodes=nodes)
        message.least, message.ideal = least_of(record), record.nodes
        if sizing.told_at is not None:
            left = sizing.told_at + self._serving.resizes.rules.patience - self.domain.clock.now()
            message.answer_within.CopyFrom(Duration(seconds=max(0, left)))
        return message


def _adaptation(sizing: Sizing) -> wire.Adaptation:
    more = len(sizing.names) - sizing.using
    if sizing.settled:
        return wire.ADAPTATION_NONE
    if not more:
        return wire.ADAPTATION_MIGRATE_PROCESSOR
    return wire.ADAPTATION_ADD_PROCESSOR if more > 0 else wire.ADAPTATION_REMOVE_PROCESSOR


def _checked(told: job_pb2.Iterations) -> Iterations:
    if told.number < 1:
        raise FieldError("past.number", "is less than 1")
    checked = Iterations(*(getattr(told, name) for name in Iterations._fields))
    for name, value in checked._asdict().items():
        if not 0 <= value < math.inf:
            raise FieldError(f"past.{name}", "is not a time in seconds")
    return checked


def checked_predictions(told: Sequence[job_pb2.Prediction], least: int, ideal: int) -> list[Prediction]:
    """Return what a job predicts of its sizes; FieldError."""
    if ideal - least >= MOST_SIZES:
        raise FieldError("predictions", f"are kept of at most {MOST_SIZES} sizes; the job has {ideal - least + 1}")
    if len(told) != ideal - least + 1 or [each.nodes for each in told] != [*range(least, ideal + 1)]:
        raise FieldError("predictions", f"must be one for each number of nodes from {least} to {ideal}, in this order")
    return [_checked_prediction(f"predictions[{place}]", each) for place, each in enumerate(told)]


def _checked_prediction(field: str, told: job_pb2.Prediction) -> Prediction:
    checked = Prediction(*(getattr(told, name) for name in Prediction._fields))
    for name, seconds in checked._asdict().items():
        if not (math.isfinite(seconds) and 0 <= seconds <= LONGEST):
            raise FieldError(f"{field}.{name}", f"is not a time from 0 to {LONGEST:.0f} s")
    if checked.exec_time == 0:
        raise FieldError(f"{field}.exec_time", "is 0: an iteration takes some time")
    return checked
