"""Algorithm 1 with the page's amendments: RunJob, TryStartMate, and whether a job would hold or yield.

Sentences about slots, wanted jobs and the budget are of meet.md.
"""

import math
import zlib
from fractions import Fraction

from .cofluid import FluidState
from .iteration import MayHold, Taken, iterate
from .order import ordered
from .planned import Plan, PlannedIteration
from .slots import settle
from .state import Entry


def run_job(j: Entry, place: object, may_hold: MayHold, now: int, plan: Plan = None) -> Taken | None:
    """Start, hold or yield j, which is ready on `place`; perhaps start its mate k, or agree with it on a slot."""
    if j.ready is None:
        j.ready = now
    k = j.mate
    if k is None:  # "If coscheduling is off here, or j has no mate, j starts."
        return start(j, place, now)
    hold_until = hold_release(j, now) if would_hold(j, may_hold, now) else None
    if k.status == "holding":  # "`StartJob(k, generation)` there. When that is acknowledged, j starts."
        k.domain.start(k, k.place, now)
        return start(j, place, now)
    k.wanted = True  # by the question alone: k may not be submitted yet
    if k.status == "queuing" and try_start_mate(k, hold_until, now):
        return start(j, place, now)
    assert k.status in ("queuing", "unsubmitted"), "without faults a mate cannot have started alone"
    if hold_until is None:
        # "If k may have a slot, as B says (k has been ready once and is queuing), rule 4 follows at once"
        if k.status == "queuing" and k.ready is not None and settle(j, plan, now, place):
            k.domain.start(k, k.slot.place, now)  # "Agreed on now: both start"
            return start(j, place, now)
        j.domain.give_way(j)
        return None
    j.domain.hold(j, place, now, hold_until)
    return Taken(until=hold_until, claim=hold_until + j.job.requested)


def start(j: Entry, place: object, now: int) -> Taken:
    j.domain.start(j, place, now)
    return Taken(until=now + j.job.requested, claim=now + j.job.requested)


def would_hold(j: Entry, may_hold: MayHold, now: int) -> bool:
    config = j.domain.config
    if config.slots:  # "with slots on, j yields (no hold)"
        return False
    # "Yield limit [...]: A job that has yielded so often holds, if the cap and rule 5 allow it."
    tired = config.max_yields > 0 and j.yields >= config.max_yields
    if config.scheme == "yield" and not tired:
        return False
    # "A hold that would bring the held nodes above floor(fraction x nodes) is a yield instead"
    cap = math.floor(Fraction(config.max_held_fraction) * config.nodes)
    return j.domain.held_nodes() + j.nodes <= cap and may_hold(hold_release(j, now))


def hold_release(j: Entry, now: int) -> float:
    """Say when a hold that began now would be released."""
    # "Each hold lasts longer by floor(interval x jitter x crc32("domain/job/generation") / 2^32)
    # seconds"
    config = j.domain.config
    if config.release_interval == 0:
        return math.inf
    generation = j.holds + 1
    crc = zlib.crc32(f"{config.name}/{j.job.job_id}/{generation}".encode())
    jitter = Fraction(config.release_interval) * Fraction(config.release_jitter) * crc / 2**32
    return now + config.release_interval + math.floor(jitter)


def try_start_mate(k: Entry, hold_until: float | None, now: int) -> bool:
    """Start k, and only k, if an iteration now would; else note until when it is wanted."""
    place = place_in_dry_run(k, now)
    if place is None:
        k.wanted_until = -math.inf if hold_until is None else hold_until
        return False
    k.domain.start(k, place, now)
    return True


def place_in_dry_run(k: Entry, now: int) -> object | None:
    # "if a scheduling iteration ran now, in which every other paired job that could start were passed over, would k
    # start?"
    if isinstance(k.domain, FluidState):
        return k.domain.place_in_dry_run(k, now)
    found = []

    def attempt(entry: Entry, place: object, _may_hold: MayHold, _plan: Plan = None) -> Taken | None:
        if entry is k:
            found.append(place)
        if not entry.is_alone():
            return None
        # "Jobs without mates that would start are counted as running"
        return Taken(until=now + entry.job.requested, claim=now + entry.job.requested)

    # "jobs that yielded at this instant are passed over, k excepted"
    order = [e for e in ordered(k.domain, now) if e is k or e not in k.domain.yielded]
    up_to_k = order[: order.index(k) + 1]  # what comes after k cannot matter to k
    if k.domain.config.meets():  # "TryStartMate(k) asks the same iteration as before"
        iteration = PlannedIteration(k.domain.profile(now), up_to_k, now, attempt)
        iteration.run(k.domain.config, dry_run=True)
    else:
        iterate(k.domain, up_to_k, now, attempt)
    return found[0] if found else None
