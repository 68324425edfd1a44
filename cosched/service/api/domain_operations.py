"""Operators' changes of the whole domain: drain it before maintenance, and resume it; correct its run times."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from cosched.core.scheduling.run_times import Origin, Pair, Runs, RunTimes
from cosched.service.api.requests import Requests, UserRequest, not_owner
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.wire.errors import Refusal

DRAIN = "drain or resume"
MOST_TOLD = 20  # corrections in a line of the audit


class DomainOperations:
    """The operations on one domain. Each is done once for each request id. They raise Refusal."""

    def __init__(self, domain: LiveDomain, requests: Requests) -> None:
        self._domain, self._requests = domain, requests

    def drain(self, request: UserRequest, expected: int, settle: int) -> None:
        """DrainDomain, for about `expected` seconds; holds last at most `settle` seconds."""
        self._change(request, DRAIN, f"for {expected} s", lambda: self._domain.draining.begin(expected, settle))

    def resume(self, request: UserRequest) -> None:
        """ResumeDomain."""
        self._change(request, DRAIN, "", self._domain.draining.end)

    def correct(
        self, request: UserRequest, times: RunTimes, corrections: Mapping[Pair, int | None], runs: Mapping[Origin, Runs]
    ) -> None:
        """CorrectRunTimes: seconds that are stated; None: what was learned is forgotten. `runs` take others' place."""
        told = [*(_told(*stated) for stated in corrections.items()), *(_imported(*learned) for learned in runs.items())]
        more = f" and {len(told) - MOST_TOLD} more" if len(told) > MOST_TOLD else ""
        said = ", ".join(told[:MOST_TOLD]) + more
        self._change(request, "correct the run times of", said, lambda: self._correct(times, corrections, runs))

    def _correct(self, times: RunTimes, corrections: Mapping[Pair, int | None], runs: Mapping[Origin, Runs]) -> None:
        for origin, learned in runs.items():
            times.replace(origin, learned)
        for pair, seconds in corrections.items():
            if seconds is None:
                times.forget(pair)
            else:
                times.state(pair, seconds)
        self._domain.scheduler.reschedule()

    def _change(self, request: UserRequest, what: str, detail: str, change: Callable[[], None]) -> None:
        try:
            if not request.caller.operator:
                raise not_owner(f"only an operator may {what} {self._domain.name}, not {request.user}")
            if self._domain.store.reply(request.user, request.request_id) is not None:
                return
            with self._domain.turns.take():
                self._requests.on_record(request, None, detail)
                change()
        except Refusal as refusal:
            self._requests.refused(request, refusal)
            raise


def _imported(origin: Origin, runs: Runs) -> str:
    return f"{origin.job_class} on {origin.resource}: {runs.count} runs of {origin.owner}, {origin.queue}"


def _told(pair: Pair, seconds: int | None) -> str:
    return f"{pair.job_class} on {pair.resource}: {'forgotten' if seconds is None else f'{seconds} s'}"
