"""The claims of section 5 (claims.csv), checked against our results; those of studies 2 to 4 with both tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from cosched.sim.results.estimate import Estimate
from cosched.sim.studies.collins2001.comparisons import on_arrival, overhead, ratio_of_sums, saving, sums
from cosched.sim.studies.collins2001.measuring import (
    HIGH,
    LOW,
    MEDIUM,
    PARALLEL,
    PREEMPTED,
    PRIORITIES,
    RATIO,
    SHARE,
    SJS_CPU,
    SUM,
    TIME,
    of_priority,
)
from cosched.sim.studies.collins2001.setup import (
    DISTRIBUTIONS,
    FEW,
    HALF,
    JOBS,
    LOADS,
    MANY,
    NONE,
    OF_PJS,
    OF_SJS,
    PJS,
    PJS_SIZES,
    RATES,
    SHARES,
    SIZES,
    SJS,
    TOTALS,
    at,
    count_of,
    machines_of,
    share_of,
)
from cosched.sim.studies.collins2001.site import TABLES
from cosched.sim.studies.design import Found
from cosched.sim.studies.measured import Of, ratio
from cosched.sim.studies.paper import (
    Claim,
    Named,
    Verdict,
    all_of,
    because,
    differences,
    missing,
    positive,
    read_claims,
)

Check = Callable[[Found, str], Verdict]  # of a table

LIGHT, HEAVY = [jobs for jobs in LOADS if jobs <= 10], [jobs for jobs in LOADS if jobs >= 60]
SLOW, FAST = RATES[:3], RATES[4:]
PAIRS = list(pairwise(DISTRIBUTIONS))

# Why claims fail
SOUGHT = "a best machine is sought again only if it was taken: of fewer machines one is the best of more jobs"
SPARE = "resources without jobs of low priority are tried first (D), so that few jobs are preempted"
COMPETE = "half of all jobs are of high priority there, and those of one call compete for the clusters"


def claims() -> list[Claim[Found]]:
    """Return all claims, in the order of the paper."""
    return list(_claims())


def _claims() -> Iterator[Claim[Found]]:
    of_tables = []
    for table in TABLES:
        checks: dict[str, Callable[[Found], Verdict]] = {**OF_CALLS}
        checks |= {name: _with(table, check) for name, check in AT_SITE.items()}
        of_tables.append(read_claims(Path(__file__).with_name("claims.csv"), checks))
    for both in zip(*of_tables, strict=True):
        if both[0].check in OF_CALLS.values():
            yield both[0]
        else:
            yield from (
                replace(claim, text=f"{claim.text} ({table})") for claim, table in zip(both, TABLES, strict=True)
            )


def _with(table: str, check: Check) -> Callable[[Found], Verdict]:
    return lambda found: check(found, table)


# Study 1


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
    few, many = (found.mean((OF_SJS, float(jobs), machines_of(SIZES[-1])), SJS_CPU) for jobs in (SIZES[1], SIZES[-1]))
    if few is None or many is None:
        return missing()
    exponent = math.log(many.mean / few.mean) / math.log(SIZES[-1] / SIZES[1])
    return all_of([("exponent", Estimate(exponent))], lambda value: value.mean < 1.5)


def is_the_same_for_all_shares(found: Found) -> Verdict:
    """Check claim: how many jobs have a parallel version has no effect."""
    ratios = {share: overhead(found, share) for share in SHARES[1:]}
    values = {share: value.mean for share, value in ratios.items() if value is not None}
    if not values:
        return missing()
    ours = ", ".join(f"{share} %: {value}" for share, value in ratios.items())
    one, other = (choose(values.values()) for choose in (min, max))
    reason = f"the greatest is {other / one:.2f} times the least"
    return Verdict(other <= 1.2 * one, ours, "" if other <= 1.2 * one else reason)


def takes_one_sjs_a_job(found: Found) -> Verdict:
    """Check claim: as many calls of SJS as jobs on clusters, beside that of all jobs and that of the last trial."""
    places = [(OF_PJS, float(jobs), share_of(share)) for jobs in PJS_SIZES for share in SHARES[1:]]
    more = differences(found, ((f"{of[1]:g} jobs, {of[2]}", (of, RATIO), (of, PARALLEL)) for of in places))
    return all_of(more, lambda value: 1 <= value.mean <= 2.5, " calls")


# Study 2


def saves(jobs: Sequence[int], fits: Callable[[Estimate], bool]) -> Check:
    """Return the check of what PJS saves with so many jobs, in %."""
    return lambda found, table: all_of([(f"{of} jobs", saving(found, table, of)) for of in jobs], fits, " %")


def saves_a_little_under_heavy_load(found: Found, table: str) -> Verdict:
    """Check claim: small improvements now and then."""
    named = [(f"{jobs} jobs", saving(found, table, jobs)) for jobs in HEAVY]
    values = [value.mean for _, value in named if value is not None]
    verdict = all_of(named, lambda of: of.mean < 10, " %")
    if verdict.holds and max(values) <= 0:
        return replace(verdict, holds=False, reason="PJS finds nothing here: its first trial improves nothing")
    return verdict


# Study 3


def _share(found: Found, table: str, priorities: str, priority: str, total: int) -> Estimate | None:
    """Return the sum of job times under PJS over that under SJS."""
    one, other = ((at(3, table, priorities, total, of), of_priority(priority, SUM)) for of in (PJS, SJS))
    return ratio(found, one, other)


def _over_all(found: Found, table: str, priorities: str, priority: str = "") -> Estimate | None:
    return ratio_of_sums(found, *(sums(table, priorities, algorithm, priority) for algorithm in (PJS, SJS)))


def is_as_with_sjs(distributions: Sequence[str], priority: str, fits: Callable[[Estimate], bool]) -> Check:
    """Return the check of the job times of a priority, empty: of all, over all numbers of jobs."""

    def check(found: Found, table: str) -> Verdict:
        shares = [(of, _over_all(found, table, of, priority)) for of in distributions]
        return all_of(shares, fits, " of SJS's")

    return check


def high_jobs_gain(found: Found, table: str) -> Verdict:
    """Check claim: jobs of high priority are better off with PJS."""
    shares = [
        (f"{priorities}, {total} jobs", _share(found, table, priorities, HIGH, total))
        for priorities in DISTRIBUTIONS for total in TOTALS
    ]  # fmt: skip
    return all_of(shares, lambda of: of.mean <= 1, " of SJS's")


def rare_high_jobs_gain_most(found: Found, table: str) -> Verdict:
    """Check claim: the fewer there are, the more they gain."""
    named: list[Named] = []
    for one, other in PAIRS:
        shares = [_over_all(found, table, priorities, HIGH) for priorities in (one, other)]
        if shares[0] is not None and shares[1] is not None:
            named.append((f"{one} beside {other}", Estimate(100 * (shares[1].mean - shares[0].mean))))
    return positive(named, " points")


def converges_near_thirty(found: Found, table: str) -> Verdict:
    """Check claim: with 10/10/80 the gain is there before 30 jobs of high priority, and gone after."""
    before, after = (_share(found, table, FEW, HIGH, total) for total in (180, 420))
    if before is None or after is None:
        return missing()
    named = [("at 18 jobs", Estimate(0.8 - before.mean)), ("at 42 jobs", Estimate(after.mean - 0.9))]
    shares = {count_of(of, FEW, HIGH): _share(found, table, FEW, HIGH, of) for of in TOTALS}
    gone = next((f"at {jobs} jobs" for jobs, share in shares.items() if share and share.mean > 0.9), "beyond 50 jobs")
    reason = f"it is gone {gone} here"
    verdict = positive(named)
    ours = ", ".join(f"{jobs} jobs: {share.mean:.2f}" for jobs, share in shares.items() if share)
    return replace(verdict, ours=ours, reason="" if verdict.holds else reason)


def _medium(found: Found, table: str, priorities: str) -> dict[int, float]:
    """Return by the number of jobs of medium priority their job times under PJS over those under SJS."""
    shares = {count_of(of, priorities, MEDIUM): _share(found, table, priorities, MEDIUM, of) for of in TOTALS}
    return {jobs: share.mean for jobs, share in shares.items() if share is not None}


def medium_jobs_lose(found: Found, table: str) -> Verdict:
    """Check claim: a sharp rise."""
    shares = _medium(found, table, FEW)
    if not shares:
        return missing()
    worst = max(shares, key=shares.__getitem__)
    before = min(share for jobs, share in shares.items() if jobs <= worst)
    holds = shares[worst] > 1.1 and shares[worst] - before > 0.2
    ours = f"from {before:.2f} to {shares[worst]:.2f} of SJS's, at {worst} jobs"
    return Verdict(holds, ours, "" if holds else "they lose less here")


def medium_jobs_recover(found: Found, table: str) -> Verdict:
    """Check claim: the fall after it."""
    shares = _medium(found, table, FEW)
    if not shares:
        return missing()
    last, most = max(shares), max(shares.values())
    ours = f"from {most:.2f} to {shares[last]:.2f} of SJS's, at {last} jobs"
    return Verdict(most - shares[last] > 0.1, ours, "" if most - shares[last] > 0.1 else "it is smaller here")


def medium_jobs_lose_earlier(found: Found, table: str) -> Verdict:
    """Check claim: at fewer jobs with 50/25/25 than with 25/25/50."""
    shares = [_medium(found, table, priorities) for priorities in (HALF, MANY)]
    if not all(shares):
        return missing()
    half, many = (max(of, key=of.__getitem__) for of in shares)
    ours = f"{HALF}: {half} jobs, {MANY}: {many} jobs"
    return Verdict(many < half, ours, "" if many < half else "it does not occur earlier here")


# Study 4


def _more(
    found: Found, table: str, rates: Sequence[int], lines: Sequence[tuple[str, str, str, str]], measure: str = TIME
) -> list[Named]:
    """Return how much more the first distribution and priority have than the second, at each rate."""

    def of(priorities: str, rate: int, priority: str) -> Of:
        return at(4, table, priorities, rate, PJS), of_priority(priority, measure)

    return differences(
        found,
        (
            (f"{of_priority(one, first)} beside {of_priority(other, second)} at {rate}",
             of(first, rate, one), of(second, rate, other))
            for rate in rates for first, one, second, other in lines
        ),
    )  # fmt: skip


def is_more(
    rates: Sequence[int], lines: Sequence[tuple[str, str, str, str]], measure: str = TIME, reason: str = ""
) -> Check:
    """Return the check of whether the first distribution and priority of each line have more than the second."""

    def check(found: Found, table: str) -> Verdict:
        verdict = positive(_more(found, table, rates, lines, measure), " s" if measure == TIME else " points")
        return because(verdict, lambda: reason) if reason else verdict

    return check


def _curves(found: Found, table: str) -> dict[str, list[float]]:
    """Return the curves of figure 8."""
    times = {
        f"{of} {priority}": [on_arrival(found, table, of, rate, priority) for rate in RATES]
        for of in DISTRIBUTIONS for priority in PRIORITIES
    }  # fmt: skip
    return {name: [value.mean for value in values if value is not None] for name, values in times.items()}


def rises_with_the_rate(found: Found, table: str) -> Verdict:
    """Check claim: generally increasing."""
    curves = {name: values for name, values in _curves(found, table).items() if values}
    return positive([(name, Estimate(values[-1] - values[0])) for name, values in curves.items()], " s")


def is_not_monotonic(found: Found, table: str) -> Verdict:
    """Check claim: some fall."""
    curves = _curves(found, table)
    if not all(curves.values()):
        return missing()
    falls = [name for name, values in curves.items() if any(one > other for one, other in pairwise(values))]
    return Verdict(bool(falls), f"{len(falls)} of {len(curves)} fall somewhere", "" if falls else "all rise here")


def loses_little(found: Found, table: str) -> Verdict:
    """Check claim: a slight degradation by priorities."""
    shares = []
    for priorities in DISTRIBUTIONS:
        one, other = ([(at(4, table, name, rate, PJS), TIME) for rate in RATES] for name in (priorities, NONE))
        shares.append((priorities, ratio_of_sums(found, one, other)))
    return all_of(shares, lambda of: 1 < of.mean <= 1.1, " of that without priorities")


def preempts_often(found: Found, table: str) -> Verdict:
    """Check claim: frequently, at one job a quantum."""
    count = found.mean(at(4, table, FEW, RATES[0], PJS), PREEMPTED)
    if count is None:
        return missing()
    holds = count.mean >= JOBS / 20
    return Verdict(holds, f"{count} preemptions", "" if holds else SPARE)


def parallelism_falls(found: Found, table: str) -> Verdict:
    """Check claim: with the rate; a point more is none."""

    def of(priorities: str, rate: int) -> Of:
        return at(4, table, priorities, rate, PJS), SHARE

    steps = [(priorities, *step) for priorities in (NONE, *DISTRIBUTIONS) for step in pairwise(RATES)]
    lines = [(f"{name}, {more} beside {less}", of(name, more), of(name, less)) for name, less, more in steps]
    return all_of(differences(found, lines), lambda of: of.mean <= 1, " points")


def high_and_medium_jobs_are_alike_at_low_rates(found: Found, table: str) -> Verdict:
    """Check claim: there are enough clusters for both."""
    lines = [(of, HIGH, of, MEDIUM) for of in DISTRIBUTIONS]
    return all_of(_more(found, table, RATES[:2], lines, SHARE), lambda of: abs(of.mean) <= 5, " points")


def parallelism_falls_with_priority(found: Found, table: str) -> Verdict:
    """Check claim: in the mean over the rates."""
    named: list[Named] = []
    for priorities in DISTRIBUTIONS:
        for one, other in pairwise(PRIORITIES):
            more = [
                value.mean
                for _, value in _more(found, table, RATES, [(priorities, one, priorities, other)], SHARE)
                if value is not None
            ]
            named.append((f"{priorities} {one}", Estimate(sum(more) / len(more)) if more else None))
    return because(positive(named, " points"), lambda: COMPETE)


OF_CALLS: Mapping[str, Callable[[Found], Verdict]] = {
    "grows": grows,
    "linear": is_linear_in_jobs,
    "one-sjs": takes_one_sjs_a_job,
    "same": is_the_same_for_all_shares,
}
AT_SITE: Mapping[str, Check] = {
    "never-worse": saves(LOADS, lambda of: of.mean >= 0),
    "light": saves(LIGHT, lambda of: of.mean > 10),
    "heavy": saves_a_little_under_heavy_load,
    "high-gain": high_jobs_gain,
    "rare-gain": rare_high_jobs_gain_most,
    "thirty": converges_near_thirty,
    "medium-lose": medium_jobs_lose,
    "medium-recover": medium_jobs_recover,
    "medium-earlier": medium_jobs_lose_earlier,
    "low-little": is_as_with_sjs((FEW, HALF), LOW, lambda of: 1 < of.mean <= 1.1),
    "low-nothing": is_as_with_sjs((MANY,), LOW, lambda of: 0.95 <= of.mean <= 1.05),
    "all-same": is_as_with_sjs((NONE, *DISTRIBUTIONS), "", lambda of: 0.95 <= of.mean <= 1.05),
    "high-served": is_more(RATES, [(of, other, of, HIGH) for of in DISTRIBUTIONS for other in (MEDIUM, LOW)]),
    "rare-served": is_more(RATES[3:], [(many, HIGH, few, HIGH) for few, many in PAIRS]),
    "medium-served": is_more(RATES, [(of, LOW, of, MEDIUM) for of in DISTRIBUTIONS]),
    "rises": rises_with_the_rate,
    "not-monotonic": is_not_monotonic,
    "few-lose": is_more(RATES[:1], [(FEW, "", other, "") for other in (HALF, MANY)], reason=SPARE),
    "little": loses_little,
    "slow-many": is_more(SLOW, [(FEW, "", MANY, "")], reason=SPARE),
    "fast-few": is_more(FAST, [(HALF, "", FEW, ""), (MANY, "", FEW, "")]),
    "preempts": preempts_often,
    "parallel-rate": parallelism_falls,
    "parallel-priority": parallelism_falls_with_priority,
    "parallel-alike": high_and_medium_jobs_are_alike_at_low_rates,
    "parallel-many": is_more(RATES[-1:], [(few, HIGH, many, HIGH) for few, many in PAIRS], SHARE),
}
