"""In which order an iteration looks at the queue."""

import math

from .model import Policy
from .state import DomainState, Entry


def fcfs(wait: int, _requested: int, _nodes: int) -> float:
    return wait


def wfp(wait: int, requested: int, nodes: int) -> float:
    # "WFP: with r = wait / requested, the score is r * r * r * nodes, in double precision, in this order of
    # operations."
    r = wait / requested
    return r * r * r * nodes


def shortest(_wait: int, requested: int, _nodes: int) -> float:
    return 1 / requested


def largest(_wait: int, _requested: int, nodes: int) -> float:
    return nodes


POLICIES = {"fcfs": fcfs, "wfp": wfp, "sjf": shortest, "largest": largest}


def ordered(domain: DomainState, now: int) -> list[Entry]:
    # "Jobs are ordered by score, highest first, then by submission time, then by their place in the trace."
    policy = domain.config.policy
    if isinstance(policy, str):
        policy = POLICIES[policy]
    boost = 1.0 + float(domain.config.yield_boost)
    queue = sorted(domain.queue, key=lambda e: (-score(e, policy, boost, now), e.job.submit, e.index))
    if domain.released:  # "After a release: coscheduling.md", for the rest of the instant
        queue.sort(key=lambda e: rank_after_release(e, now))  # stable: policy order within a rank
    return queue


def score(entry: Entry, policy: Policy, boost: float, now: int) -> float:
    value = policy(now - entry.job.submit, entry.job.requested, entry.nodes)
    if entry.yields:
        value *= boost_factor(boost, entry.yields)
    return -math.inf if math.isnan(value) else value


def boost_factor(boost: float, yields: int) -> float:
    # "The score of a job is multiplied by min((1 + yield_boost)^yields, 10^6)."
    try:
        return min(boost**yields, 1e6)
    except OverflowError:
        return 1e6


def rank_after_release(entry: Entry, now: int) -> int:
    # "wanted jobs first, then the others, released jobs last"; with `release_order` "last"
    # the wanted jobs stay where they are.
    if entry.domain.config.release_order == "wanted" and is_wanted(entry, now):
        return 0
    return 2 if entry in entry.domain.released else 1


def is_wanted(entry: Entry, now: int) -> bool:
    if entry.group is None:
        return now < entry.wanted_until
    # "While a member holds, all others are wanted, whatever they have answered, and those that were just
    # released, too."
    # "Who holds because some member is not submitted has asked for nobody."
    return any(other.status == "holding" and other.has_asked for other in entry.group.others(entry))
