"""The jobs that a caller names: whether there are such, whose they are, and whether they can still be changed."""

from __future__ import annotations

import grpc

from cosched.service.api.requests import UserRequest, not_owner
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.store import JobRecord
from cosched.service.wire.callers import Caller
from cosched.service.wire.errors import Refusal
from cosched.service.wire.fields import WrongDomainError, check_text
from cosched.v1.coscheduling_pb2 import JobRef


class OwnedJobs:
    """The jobs of one domain, ended or not."""

    def __init__(self, domain: LiveDomain) -> None:
        self._domain = domain

    def job(self, job: str) -> JobRecord:
        """Return the job, ended or not; Refusal if there is none."""
        if (record := self._domain.record(job)) is None:
            raise self.no_job(job)
        return record

    def no_job(self, job: str) -> Refusal:
        """Return the refusal that there is no job with this id."""
        return Refusal(grpc.StatusCode.NOT_FOUND, "JOB_NOT_FOUND", f"no job {job[:40]} on {self._domain.name}")

    def owned(self, request: UserRequest, job: str) -> JobRecord:
        """Return the job if it has not ended and the caller may change it; Refusal."""
        record = self.job(job)
        self.check_owner(request, record)
        if record.state.final:
            raise wrong_state(record, "be changed")
        return record

    def check_here(self, field: str, ref: JobRef) -> None:
        """Raise WrongDomainError for a job of another domain; the reference may leave out ours."""
        if ref.domain not in ("", self._domain.name):
            raise WrongDomainError(f"{field}.domain", f"is not {self._domain.name}")

    def of_caller(self, caller: Caller, ref: JobRef, what: str) -> JobRecord:
        """Return the job that a message names; Refusal: the caller may not do this; WrongDomainError, FieldError."""
        self.check_here("job", ref)
        record = self.job(check_text("job.job_id", ref.job_id, 128))
        if caller.user is None or (caller.user != record.owner and not caller.operator):
            raise not_owner(f"only {record.owner} and operators may {what} job {record.id}")
        return record

    @staticmethod
    def check_owner(request: UserRequest, record: JobRecord) -> None:
        """Raise Refusal if the caller may not change this job."""
        if request.user != record.owner and not request.caller.operator:
            raise not_owner(f"job {record.id} is {record.owner}'s, and {request.user} is not an operator")


def wrong_state(record: JobRecord, what: str) -> Refusal:
    """Return the refusal that a job in its state cannot do this."""
    state = record.state.name
    said = f"job {record.id} is {state}: it cannot {what}"
    return Refusal(grpc.StatusCode.FAILED_PRECONDITION, "JOB_STATE", said, {"state": state})
