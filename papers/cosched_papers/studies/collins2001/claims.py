"""The claims of section 5 (claims.csv), checked against our results; those of studies 2 to 4 with both tables."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, pairwise, permutations, product

from cosched_papers.studies.collins2001 import measuring, setup
from cosched_papers.studies.collins2001.calls import CHECKS as OF_CALLS
from cosched_papers.studies.collins2001.comparisons import arriving, saving, sums
from cosched_papers.studies.collins2001.measuring import HIGH, LOW, MEDIUM, PRIORITIES, SHARE, SUM, TIME, of_priority
from cosched_papers.studies.collins2001.setup import DISTRIBUTIONS, FEW, HALF, LOADS, MANY, NONE, PJS, RATES, TOTALS, at
from cosched_papers.studies.collins2001.site import TABLES
from cosched_sim.results.estimate import Estimate
from cosched_sim.studies import verdicts
from cosched_sim.studies.design import Found
from cosched_sim.studies.measured import Of, could_be_most, differences, more, ratio
from cosched_sim.studies.paper import Claim, read_claims
from cosched_sim.studies.verdicts import Named, Range, Verdict, above, all_of, below, decided, missing, one_holds, parts

Check = Callable[[Found, str], Verdict]  # of a table

LIGHT, HEAVY = [jobs for jobs in LOADS if jobs <= 10], [jobs for jobs in LOADS if jobs >= 60]
SLOW, FAST = RATES[:3], RATES[4:]
PAIRS = list(pairwise(DISTRIBUTIONS))
A_LITTLE = Range(1, 1.1, without=(1,))  # a tenth more at most, but more

# Why claims fail
SPARE = "resources without jobs of low priority are tried first (D), so that few jobs are preempted"
COMPETE = "half of all jobs are of high priority there, and those of one call compete for the clusters"


def claims() -> list[Claim[Found]]:
    """Return all claims, in the order of the paper."""
    checks = [{**OF_CALLS, **{name: _with(table, check) for name, check in AT_SITE.items()}} for table in TABLES]
    found: list[Claim[Found]] = []
    for both in zip(*(read_claims(__file__, each) for each in checks), strict=True):
        if both[0].check in OF_CALLS.values():
            found.append(both[0])
        else:
            found += [replace(claim, text=f"{claim.text} ({table})") for claim, table in zip(both, TABLES, strict=True)]
    return found


def _with(table: str, check: Check) -> Callable[[Found], Verdict]:
    return lambda found: check(found, table)


# Study 2


def saves(jobs: Sequence[int], fits: Range) -> Check:
    """Return the check of what PJS saves with so many jobs, in %."""
    return lambda found, table: all_of([(f"{of} jobs", saving(found, table, of)) for of in jobs], fits, " %")


def saves_a_little_under_heavy_load(found: Found, table: str) -> Verdict:
    """Check claim: small improvements now and then."""
    named = [(f"{jobs} jobs", saving(found, table, jobs)) for jobs in HEAVY]
    there = [value for _, value in named if value is not None]
    if not there:
        return missing()
    nothing = "PJS finds nothing here: its first trial improves nothing"
    word = one_holds(map(verdicts.POSITIVE.decides, there))
    verdict = decided(word, "", nothing, "whether there is a saving at all is open")
    return parts(("", verdict), ("", all_of(named, below(10), " %")))


# Study 3


def _share(found: Found, table: str, priorities: str, priority: str, total: int) -> Estimate | None:
    """Return the sum of job times under PJS over that under SJS."""
    one, other = ((at(3, table, priorities, total, of), of_priority(priority, SUM)) for of in (PJS, setup.SJS))
    return ratio(found, one, other)


def _over_all(found: Found, table: str, priorities: str, priority: str = "") -> Estimate | None:
    return ratio(found, *(sums(table, priorities, algorithm, priority) for algorithm in (PJS, setup.SJS)))


def is_as_with_sjs(distributions: Sequence[str], priority: str, fits: Range) -> Check:
    """Return the check of the job times of a priority, empty: of all, over all numbers of jobs."""
    return lambda found, table: all_of(
        [(of, _over_all(found, table, of, priority)) for of in distributions], fits, " of SJS's"
    )


def high_jobs_gain(found: Found, table: str) -> Verdict:
    """Check claim: jobs of high priority are better off with PJS, and nowhere worse."""
    shares = [(f"{of}, {n} jobs", _share(found, table, of, HIGH, n)) for of, n in product(DISTRIBUTIONS, TOTALS)]
    nowhere_worse = all_of(shares, Range(high=1), " of SJS's")
    better = is_as_with_sjs(DISTRIBUTIONS, HIGH, below(1))(found, table)
    return parts(("at each number of jobs", nowhere_worse), ("over all", better))


def rare_high_jobs_gain_most(found: Found, table: str) -> Verdict:
    """Check claim: the fewer there are, the more they gain."""
    named: list[Named] = []
    for one, other in PAIRS:
        rare, frequent = (_over_all(found, table, priorities, HIGH) for priorities in (one, other))
        gain = None if rare is None or frequent is None else frequent.minus(rare).times(100)
        named.append((f"{one} beside {other}", gain))
    return verdicts.positive(named, " points")


def converges_near_thirty(found: Found, table: str) -> Verdict:
    """Check claim: with 10/10/80 the gain is there before 30 jobs of high priority, and gone after."""
    shares = {setup.count_of(of, FEW, HIGH): _share(found, table, FEW, HIGH, of) for of in TOTALS}
    before, after = (
        all_of([(f"at {jobs} jobs", shares[jobs])], fits, " of SJS's")
        for jobs, fits in ((18, below(0.8)), (42, above(0.9)))
    )
    ours = ", ".join(f"{jobs} jobs: {share}" for jobs, share in shares.items() if share)
    return replace(parts(("", before), ("", after)), ours=ours or "no results")


def _medium(found: Found, table: str, priorities: str) -> dict[int, Estimate]:
    """Return by the number of jobs of medium priority their job times under PJS over those under SJS."""
    shares = {setup.count_of(of, priorities, MEDIUM): _share(found, table, priorities, MEDIUM, of) for of in TOTALS}
    return {jobs: share for jobs, share in shares.items() if share is not None}


def medium_jobs_lose(found: Found, table: str) -> Verdict:
    """Check claim: a sharp rise."""
    shares = _medium(found, table, FEW)
    if len(shares) < len(TOTALS):
        return missing()
    word = one_holds(
        verdicts.all_hold([above(1.1).decides(shares[after]), above(0.2).decides(shares[after].minus(shares[before]))])
        for before, after in combinations(sorted(shares), 2)
    )
    worst = max(shares, key=lambda jobs: shares[jobs].mean)
    before = min((share for jobs, share in shares.items() if jobs <= worst), key=lambda share: share.mean)
    ours = f"from {before} to {shares[worst]} of SJS's, at {worst} jobs"
    return decided(word, ours, "they lose less here", "whether they lose as much is open")


def medium_jobs_recover(found: Found, table: str) -> Verdict:
    """Check claim: the fall after it."""
    shares = _medium(found, table, FEW)
    if len(shares) < len(TOTALS):
        return missing()
    last = max(shares)
    word = one_holds(above(0.1).decides(share.minus(shares[last])) for jobs, share in shares.items() if jobs != last)
    most = max(shares.values(), key=lambda share: share.mean)
    ours = f"from {most} to {shares[last]} of SJS's, at {last} jobs"
    return decided(word, ours, "it is smaller here", "whether it is as great is open")


def medium_jobs_lose_earlier(found: Found, table: str) -> Verdict:
    """Check claim: at fewer jobs with 50/25/25 than with 25/25/50, by where they could lose most."""
    worst = []
    for priorities in (HALF, MANY):
        shares = _medium(found, table, priorities)
        if len(shares) < len(TOTALS):
            return missing()
        worst.append(could_be_most({both: shares[both[0]].minus(shares[both[1]]) for both in permutations(shares, 2)}))
    half, many = worst
    word = verdicts.HOLDS if max(many) < min(half) else verdicts.FAILS if min(many) >= max(half) else verdicts.OPEN
    ours = "; ".join(f"{of}: {_span(jobs)} jobs" for of, jobs in ((HALF, half), (MANY, many)))
    return decided(word, ours, "it does not occur earlier here", "where it occurs is open")


def _span(jobs: Collection[int]) -> str:
    return f"{min(jobs)}" if len(jobs) == 1 else f"{min(jobs)} to {max(jobs)}"


# Study 4


def _more(
    found: Found, table: str, rates: Sequence[int], lines: Sequence[tuple[str, str, str, str]], measure: str = TIME
) -> list[Named]:
    """Return how much more the first distribution and priority have than the second, at each rate."""
    return differences(found, (
        (f"{of_priority(one, first)} beside {of_priority(other, second)} at {rate}",
         arriving(table, first, rate, one, measure), arriving(table, second, rate, other, measure))
        for rate in rates for first, one, second, other in lines
    ))  # fmt: skip


def is_more(
    rates: Sequence[int], lines: Sequence[tuple[str, str, str, str]], measure: str = TIME, reason: str = ""
) -> Check:
    """Return the check of whether the first distribution and priority of each line have more than the second."""

    def check(found: Found, table: str) -> Verdict:
        verdict = verdicts.positive(_more(found, table, rates, lines, measure), " s" if measure == TIME else " points")
        return verdicts.because(verdict, lambda: reason) if reason else verdict

    return check


def _rises(found: Found, table: str, rates: Iterable[tuple[int, int]]) -> list[Named]:
    """Return how much longer job times are at the second rate of each two, for the curves of figure 8."""
    return differences(found, (
        (f"{one} {of} from {slow} to {fast}", arriving(table, one, fast, of), arriving(table, one, slow, of))
        for one, of, (slow, fast) in product(DISTRIBUTIONS, PRIORITIES, rates)
    ))  # fmt: skip


def is_not_monotonic(found: Found, table: str) -> Verdict:
    """Check claim: some fall."""
    rises = [value for _, value in _rises(found, table, pairwise(RATES)) if value is not None]
    if len(rises) < len(DISTRIBUTIONS) * len(PRIORITIES) * (len(RATES) - 1):
        return missing()
    words = [below(0).decides(value) for value in rises]
    word, least = one_holds(words), min(rises, key=lambda value: value.mean)
    ours = f"{words.count(verdicts.HOLDS)} of {len(words)} steps of {len(DISTRIBUTIONS) * len(PRIORITIES)} curves fall"
    return decided(word, f"{ours}; the least rise is {least} s", "all rise here", "whether one falls is open")


def loses_little(found: Found, table: str) -> Verdict:
    """Check claim: a slight degradation by priorities."""
    shares = []
    for priorities in DISTRIBUTIONS:
        one, other = ([arriving(table, name, rate) for rate in RATES] for name in (priorities, NONE))
        shares.append((priorities, ratio(found, one, other)))
    return all_of(shares, A_LITTLE, " of that without priorities")


def preempts_often(found: Found, table: str) -> Verdict:
    """Check claim: frequently, at one job a quantum."""
    count = found.mean(at(4, table, FEW, RATES[0], PJS), measuring.PREEMPTED)
    return verdicts.because(all_of([("there", count)], Range(setup.JOBS / 20), " preemptions"), lambda: SPARE)


def parallelism_falls(found: Found, table: str) -> Verdict:
    """Check claim: with the rate; a point more from one to the next is none."""

    def share(priorities: str, rate: int) -> Of:
        return arriving(table, priorities, rate, measure=SHARE)

    def rises(rates: Iterable[tuple[int, int]]) -> list[Named]:
        steps = [(priorities, *step) for step in rates for priorities in (NONE, *DISTRIBUTIONS)]
        lines = [(f"{of}, {fast} beside {slow}", share(of, fast), share(of, slow)) for of, slow, fast in steps]
        return differences(found, lines)

    falls, ends = all_of(rises(pairwise(RATES)), Range(high=1), " points"), rises([(RATES[0], RATES[-1])])
    return parts(("from rate to rate", falls), ("from the least to the greatest", all_of(ends, below(0), " points")))


def high_and_medium_jobs_are_alike_at_low_rates(found: Found, table: str) -> Verdict:
    """Check claim: there are enough clusters for both."""
    lines = [(of, HIGH, of, MEDIUM) for of in DISTRIBUTIONS]
    return all_of(_more(found, table, RATES[:2], lines, SHARE), Range(-5, 5), " points")


def parallelism_falls_with_priority(found: Found, table: str) -> Verdict:
    """Check claim: in the mean over the rates."""
    named: list[Named] = []
    for priorities in DISTRIBUTIONS:
        for one, other in pairwise(PRIORITIES):
            high, low = ([arriving(table, priorities, rate, of, SHARE) for rate in RATES] for of in (one, other))
            named.append((f"{priorities} {one}", more(found, high, low)))
    return verdicts.because(verdicts.positive(named, " points"), lambda: COMPETE)


AT_SITE: Mapping[str, Check] = {
    "never-worse": saves(LOADS, verdicts.NOT_NEGATIVE),
    "light": saves(LIGHT, above(10)),
    "heavy": saves_a_little_under_heavy_load,
    "high-gain": high_jobs_gain,
    "rare-gain": rare_high_jobs_gain_most,
    "thirty": converges_near_thirty,
    "medium-lose": medium_jobs_lose,
    "medium-recover": medium_jobs_recover,
    "medium-earlier": medium_jobs_lose_earlier,
    "low-little": is_as_with_sjs((FEW, HALF), LOW, A_LITTLE),
    "low-nothing": is_as_with_sjs((MANY,), LOW, Range(0.95, 1.05)),
    "all-same": is_as_with_sjs((NONE, *DISTRIBUTIONS), "", Range(0.95, 1.05)),
    "high-served": is_more(RATES, [(of, other, of, HIGH) for of in DISTRIBUTIONS for other in (MEDIUM, LOW)]),
    "rare-served": is_more(RATES[3:], [(many, HIGH, few, HIGH) for few, many in PAIRS]),
    "medium-served": is_more(RATES, [(of, LOW, of, MEDIUM) for of in DISTRIBUTIONS]),
    "rises": lambda found, table: verdicts.positive(_rises(found, table, [(RATES[0], RATES[-1])]), " s"),
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
