"""Why a job waits, in words: what a reason of one word means, of a job with a mate and of one in a group. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from cosched.core.story import Why

OTHER = "another member of its group"
WHY: Mapping[str, str] = {
    Why.MATE_QUEUING: "{mate} waits in the queue",
    Why.MATE_UNSUBMITTED: "{mate} is not submitted yet",
    Why.MEMBER_LOST: "{mate} was cancelled or has failed",
    Why.SUCCESSOR: "{mate} was cancelled by its owner, who may submit another in its place",
    Why.MATE_NOT_TOLD: "{domain} has not heard yet that it was queued again",
    Why.WINDOW_AHEAD: "others of its group have started, and its window has not come yet",
    Why.INSTANT_PASSED: "the instant that its group was given has passed",
    Why.PEER_UNREACHABLE: "{domain} cannot be reached",
    Why.PEER_AWAY: "{domain} is away and expected back",
    Why.PEER_BUSY: "{domain} is too busy to answer",
    Why.PEER_DRAINING: "{domain} drains and {starts}",
    Why.DRAINING: "this domain drains and {starts}",
    Why.PEER_REFUSED: "{domain} refuses this one: a misconfiguration",
}

STARTING: Mapping[str, str] = {  # what a job waits for whose start was ordered
    "AgreedStart": "for the instant that the domains have agreed on",
    "BatchSystem": "for its batch system, which has yet to begin it",
    "Launching": "for its processes, which are being started",
    "NodesBusy": "for nodes that other jobs have yet to give up",
    "DiskFull": "for room on the disk",
    "LastRun": "for the end of its last run, which was preempted",
}


def in_words(reason: str, *, of_group: bool, member: str = OTHER, words: Mapping[str, str] = WHY) -> str | None:
    """Return what a reason means; None if `words` has no text of it. `member`: who is meant, of a job in a group."""
    mate, domain, starts = "its mate", "its mate's domain", "makes no pairs"
    if of_group:
        mate, domain, starts = member, f"the domain of {member}", "starts no groups"
    text = words.get(reason)
    return None if text is None else text.format(mate=mate, domain=domain, starts=starts)
