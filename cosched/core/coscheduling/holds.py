"""How long a hold or a pause lasts, how much may be held, what a yield is worth; computed exactly, not in floats."""

from __future__ import annotations

import zlib
from decimal import Decimal
from fractions import Fraction
from functools import cache

from cosched.core.protocol import FOREVER, Domain, JobId
from cosched.core.settings import CoschedulingSettings

MAX_BOOST = 10.0**6


def held_node_cap(settings: CoschedulingSettings, nodes: int) -> int:
    """Return the nodes that may be held at once on a machine of `nodes` (Tang et al., IV-E2)."""
    return int(Fraction(settings.max_held_fraction) * nodes)


def release_time(settings: CoschedulingSettings, domain: Domain, job: JobId, generation: int, now: int) -> int:
    """When the hold that begins now is released (Tang et al., IV-E1), jitter included; FOREVER without a timer."""
    interval = settings.release_interval
    if interval == 0:
        return FOREVER
    jitter = settings.release_jitter
    if not jitter:
        return now + interval
    share = zlib.crc32(f"{domain}/{job}/{generation}".encode())
    numerator, denominator = _ratio(jitter)
    return now + interval + interval * numerator * share // (denominator << 32)


@cache
def _ratio(jitter: Decimal) -> tuple[int, int]:
    return jitter.as_integer_ratio()


def part_of(seconds: int, domain: Domain, job: JobId, number: int) -> int:
    """Return a part of that time that looks random: it depends on the number alone, so each run has the same."""
    return seconds * zlib.crc32(f"{domain}/{job}/{number}".encode()) >> 32


def yield_boost(settings: CoschedulingSettings, yields: int) -> float:
    """Return the factor on the score of a job that yielded so often (Tang et al., IV-E2: "increase the priority")."""
    if not settings.yield_boost:
        return 1.0
    try:
        return min((1.0 + float(settings.yield_boost)) ** yields, MAX_BOOST)
    except OverflowError:
        return MAX_BOOST
