"""The claims of study 1: how long calls of SJS and of PJS take."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import permutations

from cosched_papers.studies.collins2001.comparisons import overhead
from cosched_papers.studies.collins2001.measuring import PARALLEL, RATIO, SJS_CPU
from cosched_papers.studies.collins2001.setup import OF_PJS, OF_SJS, PJS_SIZES, SHARES, SIZES, machines_of, share_of
from cosched_sim.results.estimate import jackknifed
from cosched_sim.studies.design import Found
from cosched_sim.studies.measured import Of, differences, pairs
from cosched_sim.studies.verdicts import NOT_NEGATIVE, Named, Range, Verdict, all_of, because, positive

SOUGHT = "a best machine is sought again only if it was taken: of fewer machines one is the best of more jobs"


def grows(found: Found) -> Verdict:
    """Check claim: with machines and with jobs."""
    least, most = SIZES[0], SIZES[-1]

    def of(jobs: int, machines: int) -> Of:
        return (OF_SJS, float(jobs), machines_of(machines)), SJS_CPU

    lines = [(f"{size} machines", of(most, size), of(least, size)) for size in SIZES]
    lines += [(f"{size} jobs", of(size, most), of(size, least)) for size in SIZES]
    return because(positive(differences(found, lines), " ms"), lambda: SOUGHT)


def is_linear_in_jobs(found: Found) -> Verdict:
    """Check claim: O(nm) rather than O(n^2 m)."""
    few, many = (((OF_SJS, float(jobs), machines_of(SIZES[-1])), SJS_CPU) for jobs in (SIZES[1], SIZES[-1]))
    there = pairs(found, many, few)

    def exponent(some: Sequence[tuple[float, float]]) -> float:
        longer, shorter = (math.fsum(times) for times in zip(*some, strict=True))
        return math.log(longer / shorter) / math.log(SIZES[-1] / SIZES[1])

    return all_of([("exponent", jackknifed(there, exponent) if there else None)], Range(0, 1.5, without=(0, 1.5)))


def is_the_same_for_all_shares(found: Found) -> Verdict:
    """Check claim: how many jobs have a parallel version has no effect."""
    ratios = {share: overhead(found, share) for share in SHARES[1:]}
    there = {share: value for share, value in ratios.items() if value is not None}
    named: list[Named] = [
        (f"1.2 times that of {one} % less that of {other} %", there[one].times(1.2).minus(there[other]))
        for one, other in permutations(there, 2)
    ]
    ours = ", ".join(f"{share} %: {value}" for share, value in there.items())
    return replace(all_of(named, NOT_NEGATIVE), ours=ours or "no results")


def takes_one_sjs_a_job(found: Found) -> Verdict:
    """Check claim: as many calls of SJS as jobs on clusters, beside that of all jobs and that of the last trial."""
    places = [(OF_PJS, float(jobs), share_of(share)) for jobs in PJS_SIZES for share in SHARES[1:]]
    beyond = differences(found, ((f"{of[1]:g} jobs, {of[2]}", (of, RATIO), (of, PARALLEL)) for of in places))
    return all_of(beyond, Range(1, 2.5), " calls")


CHECKS: Mapping[str, Callable[[Found], Verdict]] = {
    "grows": grows,
    "linear": is_linear_in_jobs,
    "one-sjs": takes_one_sjs_a_job,
    "same": is_the_same_for_all_shares,
}
