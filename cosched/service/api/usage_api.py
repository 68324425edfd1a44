"""UsageService: what jobs have cost beyond their runs, by user, account or pair."""

from __future__ import annotations

from cosched.service.api.answering import ApiFor, Context, answered
from cosched.service.api.domain_api import Serving
from cosched.service.api.reads import Reads, Usage
from cosched.service.api.requests import checked_reader
from cosched.service.domain.charges import HOUR
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.wire.fields import FieldError, check_time
from cosched.v1 import explain_pb2, usage_pb2
from cosched.v1.usage_pb2_grpc import UsageServiceServicer

MOST_SUMS = 1000
BY = {
    usage_pb2.USAGE_BY_UNSPECIFIED: "owner",
    usage_pb2.USAGE_BY_USER: "owner",
    usage_pb2.USAGE_BY_ACCOUNT: "account",
    usage_pb2.USAGE_BY_PAIR: "pair",
}


class UsageApi(ApiFor[Serving], UsageServiceServicer):
    """The API for callers of one listener."""

    @answered
    async def ListUsage(self, request: usage_pb2.ListUsageRequest, context: Context) -> usage_pb2.ListUsageResponse:
        caller = checked_reader(self.domain, self._identify(context))
        async with self._serving.reads.reading(caller.via):
            return await sums(self.domain, self._serving.reads, request)


async def sums(domain: LiveDomain, reads: Reads, request: usage_pb2.ListUsageRequest) -> usage_pb2.ListUsageResponse:
    """Return the sums, for a caller who may read, in its turn. FieldError, StoreError."""
    by = BY.get(request.by)
    if by is None:
        raise FieldError("by", "is not known here")
    if not 0 <= request.limit <= MOST_SUMS:
        raise FieldError("limit", f"is not between 0 and {MOST_SUMS}")
    clock, charges = domain.clock, domain.records.charges
    since = clock.from_wall(check_time("since", request.since)) // HOUR if request.HasField("since") else 0
    found = await reads.usage(by, since)
    budgets = charges.accounts.budgets if by == "account" else {}
    for account in budgets:
        found.setdefault(account, Usage())
    most = sorted(found.items(), key=lambda item: (-item[1].cost.held - item[1].cost.booked, item[0]))
    told = usage_pb2.ListUsageResponse()
    for name, usage in most[: request.limit or MOST_SUMS]:
        message = told.usages.add(name=name, jobs=len(usage.jobs), cost=explain_pb2.Cost(**usage.cost._asdict()))
        if name in budgets:
            message.may_hold_in_a_day = budgets[name]
            message.held_in_a_day = charges.used(name, clock.now())
    return told
