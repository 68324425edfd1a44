"""UsageService: what jobs have cost beyond their runs, by user, account or pair."""

from __future__ import annotations

from cosched.service.api.answering import Context, answer
from cosched.service.api.explain_api import Explained
from cosched.service.api.reads import Usage
from cosched.service.api.requests import checked_reader
from cosched.service.domain.charges import HOUR
from cosched.service.wire.callers import Identify
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


class UsageApi(UsageServiceServicer):
    """The API for callers of one listener."""

    def __init__(self, serving: Explained, identify: Identify) -> None:
        self._serving = serving
        self._domain = serving.domain
        self._identify = identify

    async def ListUsage(self, request: usage_pb2.ListUsageRequest, context: Context) -> usage_pb2.ListUsageResponse:
        """See the protocol."""

        async def work() -> usage_pb2.ListUsageResponse:
            caller = checked_reader(self._domain, self._identify(context))
            async with self._serving.reads.turn(caller.via):
                return await self.usage(request)

        return await answer("ListUsage", work(), context, self._domain)

    async def usage(self, request: usage_pb2.ListUsageRequest) -> usage_pb2.ListUsageResponse:
        """Return the sums, for a caller who may read. FieldError, StoreError."""
        by = BY.get(request.by)
        if by is None:
            raise FieldError("by", "is not known here")
        if not 0 <= request.limit <= MOST_SUMS:
            raise FieldError("limit", f"is not between 0 and {MOST_SUMS}")
        clock = self._domain.clock
        since = clock.from_wall(check_time("since", request.since)) // HOUR if request.HasField("since") else 0
        found = await self._serving.reads.usage(by, since)
        if by == "account":
            for account in self._domain.records.charges.accounts.budgets:
                found.setdefault(account, Usage())
        most = sorted(found.items(), key=lambda item: (-item[1].cost.held - item[1].cost.booked, item[0]))
        told = usage_pb2.ListUsageResponse()
        for name, usage in most[: request.limit or MOST_SUMS]:
            self._write(told.usages.add(name=name, jobs=len(usage.jobs)), usage, of_account=by == "account")
        return told

    def _write(self, message: usage_pb2.Usage, usage: Usage, *, of_account: bool) -> None:
        held, booked, pushed = usage.cost
        message.cost.CopyFrom(explain_pb2.Cost(held=held, booked=booked, pushed=pushed))
        charges = self._domain.records.charges
        budget = charges.accounts.budgets.get(message.name) if of_account else None
        if budget is not None:
            message.may_hold_in_a_day = budget
            message.held_in_a_day = charges.used(message.name, self._domain.clock.now())
