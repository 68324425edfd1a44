"""The meaning of a call without an answer: the OUTCOMES of proto/cosched/v1/coscheduling.proto. Pure."""

from __future__ import annotations

from grpc import StatusCode
from grpc.aio import AioRpcError

from cosched.core import protocol as core
from cosched.core.protocol import Failure, Reply
from cosched.words.error_details import error_info

MAX_PROBLEM = 300  # characters of a peer's error text that are shown
_BUSY = frozenset({"STARTING", "STALLED"})  # reasons by which the peer says: I did nothing, try later
ASKING = "ASKING"  # the reason by which it says: I did nothing, and have to ask first
_LEAVING = "STOPPING"  # the reason by which it says: I did nothing, and will not
_TOO_LARGE = "larger than max"  # part of gRPC's own message for a message above the limit
# All other codes refuse the call. Neither the protocol nor gRPC uses some of them: such an answer breaks the contract.
_NO_REFUSALS = ("CANCELLED", "UNKNOWN", "DEADLINE_EXCEEDED", "INTERNAL", "UNAVAILABLE", "RESOURCE_EXHAUSTED")
OF_PAIRS_ONLY: dict[type, Reply] = {  # what a domain means that answers UNIMPLEMENTED: it takes no groups
    core.GetMember: core.MateJobId(core.Found.NO_PAIR, None, core.MateProblem.NO_GROUPS),
    core.ProposeGroupStart: core.GroupProposed(core.Vote.NO),
    core.SettleGroupStart: core.Settled(False),
    core.GetProposal: core.ProposalOutcome(core.Outcome.UNKNOWN),
}


class CallError(Exception):
    """A call that brought no usable answer: `failure` for the core, `problem` in one line for people.

    `reason`: the peer's own, if it has given one.
    """

    def __init__(self, failure: Failure, problem: str, reason: str = "") -> None:
        self.failure = failure
        self.problem = problem
        self.reason = reason
        super().__init__(f"{failure}: {problem}")


def failure(error: AioRpcError, mutating: bool) -> CallError:
    """Return the failure of a call that was, or may have been, sent; `mutating`: one that changes something."""
    reason, metadata = error_info(error) or ("", {})  # the peer's own
    words = " ".join(filter(None, (error.code().name, reason, metadata.get("field", ""))))
    text = (error.details() or "").rpartition("last error: ")[2].removeprefix("UNKNOWN: ")
    return CallError(_kind(error, reason, mutating), one_line(f"{words}: {text}" if text else words), reason)


def _kind(error: AioRpcError, reason: str, mutating: bool) -> Failure:
    code = error.code()
    if code.name not in _NO_REFUSALS:
        return Failure.REFUSED
    if code is StatusCode.RESOURCE_EXHAUSTED:
        if _TOO_LARGE in (error.details() or ""):
            return Failure.REFUSED  # an answer that breaks the contract
        return Failure.SLOW if mutating and not reason else Failure.BUSY
    if code is StatusCode.UNAVAILABLE and reason in _BUSY:
        return Failure.BUSY
    if not mutating or (code is StatusCode.UNAVAILABLE and reason == _LEAVING):
        return Failure.UNREACHABLE
    return Failure.TIMEOUT


def is_lost(error: AioRpcError) -> bool:
    """Return whether there was no connection, or it broke, so that the peer itself did not answer."""
    return error.code() is StatusCode.UNAVAILABLE and error_info(error) is None


def one_line(text: str) -> str:
    """Return the text on one line, without unprintable characters, and not too long."""
    printable = "".join(character if character.isprintable() else " " for character in text)
    return " ".join(printable.split())[:MAX_PROBLEM]
