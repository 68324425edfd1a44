"""For applications: a job whose size may change while it runs follows what its domain gives to it.

    job = AdaptiveJob()
    while not done:
        iterate(on=job.nodes)
        if job.boundary():  # it has other nodes now: move what is on them, then
            job.adapted()

It may also tell how long an iteration takes on each number of nodes, and what an adaptation costs: `predict`.

A domain that does not answer, as while it is restarted, changes nothing: the job goes on with what it has. In other
languages, call AdaptiveService (cosched/v1/adaptive.proto) on the socket that COSCHED_SERVER names.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable

import grpc

from cosched.client.connection import open_channel, server_address
from cosched.client.errors import Unreachable, client_error
from cosched.v1 import adaptive_pb2, coscheduling_pb2, job_pb2
from cosched.v1.adaptive_pb2_grpc import AdaptiveServiceStub

TIMEOUT = 2.0  # seconds that a boundary may take
OfNodes = Callable[[int], float]  # seconds, by the number of nodes
Predict = Callable[[int], job_pb2.Prediction]


def _nothing(nodes: int) -> float:  # noqa: ARG001
    return 0.0


class AdaptiveJob:
    """This job. Not for several threads.

    `nodes`: those that it has, and should use now; `using`: those that it was started on, or has said last that it
    uses; `least`, `ideal`: the fewest and the most that it was submitted with, None before the first answer.
    """

    def __init__(self, server: str | None = None, job: str | None = None, *, timeout: float = TIMEOUT) -> None:
        """By default it is the job of this process, and its domain is COSCHED_SERVER. ValueError outside of any job."""
        job = job or os.environ.get("COSCHED_JOB_ID")
        if not job:
            raise ValueError("not inside a job of cosched: COSCHED_JOB_ID is not set")
        self.id, self._ref = job, coscheduling_pb2.JobRef(job_id=job)
        self.nodes = self.using = tuple(filter(None, os.environ.get("COSCHED_NODELIST", "").split(",")))
        self.least: int | None = None
        self.ideal: int | None = None
        self.problem = ""  # why the domain did not answer last; empty if it did
        self._server = server_address(server)
        self._channel = open_channel(grpc, self._server, None)
        self._service, self._timeout = AdaptiveServiceStub(self._channel), timeout
        self._told = self._adapted = 0  # the numbers of `nodes` and of `using`
        self._untold: Predict | None = None  # what it predicts, until its domain has it
        self._iterations, self._since = 0, time.monotonic()

    def boundary(self, exec_time_comp: float = 0.0, exec_time_comm: float = 0.0) -> bool:
        """Say that an iteration is over; whether the job should adapt to other `nodes`, and then call `adapted`.

        `exec_time_comp`, `exec_time_comm`: how long computation and communication have taken in an iteration, in the
        mean since the last change. ClientError: the domain refuses, as it does if the size of this job does not change.
        """
        self._iterations += 1
        exec_time = (time.monotonic() - self._since) / self._iterations
        parts = {"exec_time_comp": exec_time_comp, "exec_time_comm": exec_time_comm}
        self._call(job_pb2.Iterations(number=self._iterations, exec_time=exec_time, **parts))
        return self._told != self._adapted

    def adapted(self) -> bool:
        """Say that the job uses `nodes` now, and no others; whether it should adapt again at once. ClientError."""
        self._adapted, self.using = self._told, self.nodes
        self._iterations, self._since = 0, time.monotonic()
        self._call(None)
        return self._told != self._adapted

    def predict(
        self,
        exec_time: OfNodes,
        exec_time_comp: OfNodes = _nothing,
        exec_time_comm: OfNodes = _nothing,
        actuating_cost: OfNodes = _nothing,
    ) -> bool:
        """Tell how long an iteration takes on each number of nodes; whether the domain has that on record.

        All are functions of the number of nodes, in seconds: of an iteration, of the computation and communication in
        it (0: not known), and for how long an adaptation stops the job while it has these nodes. The module
        cosched_papers.fluid.costs has models. If the domain does not answer now it is told at the next
        boundary at which it does. ClientError: it refuses.
        """
        told = {"exec_time": exec_time, "exec_time_comp": exec_time_comp}
        told |= {"exec_time_comm": exec_time_comm, "cost": actuating_cost}
        self._untold = lambda nodes: job_pb2.Prediction(nodes=nodes, **{name: of(nodes) for name, of in told.items()})
        self._call(None)
        return self._untold is None

    def close(self) -> None:
        """Close the connection."""
        self._channel.close()

    def _call(self, past: job_pb2.Iterations | None) -> None:
        """Ask what it has; a domain that does not answer changes nothing. ClientError if it refuses."""
        request = adaptive_pb2.ReachBoundaryRequest(job=self._ref, acknowledged=self._adapted, past=past)
        self.problem = ""
        try:
            told = self._service.ReachBoundary(request, timeout=self._timeout)
            self.least, self.ideal = told.least, told.ideal
            self._told, self.nodes = told.generation, tuple(told.nodes)
            if self._untold is not None:
                self._tell(map(self._untold, range(told.least, told.ideal + 1)))
        except grpc.RpcError as error:
            failure = client_error(error, self._server)
            if not isinstance(failure, Unreachable):
                raise failure from None
            self.problem = str(failure)

    def _tell(self, predictions: Iterable[job_pb2.Prediction]) -> None:
        request = adaptive_pb2.TellPredictionsRequest(job=self._ref, predictions=predictions)
        untold, self._untold = self._untold, None  # what is refused is not told again
        try:
            self._service.TellPredictions(request, timeout=self._timeout)
        except grpc.RpcError as error:
            if isinstance(client_error(error, self._server), Unreachable):
                self._untold = untold
            raise
