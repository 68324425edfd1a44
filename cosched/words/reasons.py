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
REASONS: Mapping[str, str] = {  # all that a job has as its reason, but for the word of its queue
    **WHY,
    **{word: f"it waits {what}" for word, what in STARTING.items()},
    "MateHolding": "{mate} holds its nodes and waits",
    "MateSlot": "its domain and {domain} have agreed when all start",
    "MateUnknown": "it cannot have {mate}",
    "Held": "it keeps its nodes and waits for {mate}",
    "HeldCap": "it would hold, but holds already take as many nodes as they may",
    "TooLargeToHold": "it is too large to hold here, and only yields",
    "HeldBudget": "jobs of its account have held as much in the last day as they may",
    "SlotShare": "slots of its owner with that domain have kept nodes for as long as they may",
    "Yielded": "it let other jobs go first",
    "Cancelling": "it is to be cancelled; its resource manager has not ended it yet",
    "JobHeldUser": "it was submitted on hold",
    "JobHeldAdmin": "an operator has put it aside",
}
CHANGES: Mapping[str, str] = {  # what its owner can do
    Why.MEMBER_LOST: "cosched unlink lets it start without",
    Why.INSTANT_PASSED: "cosched unlink lets it start alone, cosched cancel ends it",
    "MateUnknown": "cosched link names another, cosched unlink lets it start without",
    "JobHeldUser": "cosched release lets it be scheduled",
    "JobHeldAdmin": "an operator lets it go by cosched release",
}


def meaning_of(reason: str, *, of_group: bool) -> str | None:
    """Return what a job's reason means, and what its owner can do about it; None: it has no text."""
    said = in_words(reason, of_group=of_group, words=REASONS)
    return said and "; ".join(filter(None, (said, CHANGES.get(reason))))


def in_words(reason: str, *, of_group: bool, member: str = OTHER, words: Mapping[str, str] = WHY) -> str | None:
    """Return what a reason means; None if `words` has no text of it. `member`: who is meant, of a job in a group."""
    mate, domain, starts = "its mate", "its mate's domain", "makes no pairs"
    if of_group:
        mate, domain, starts = member, f"the domain of {member}", "starts no groups"
    text = words.get(reason)
    return None if text is None else text.format(mate=mate, domain=domain, starts=starts)
