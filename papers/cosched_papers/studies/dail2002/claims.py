"""The claims of the paper, each with what decides it."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from cosched_papers.studies.dail2002.comparisons import case_study, degradations, more_degraded, spread_of
from cosched_papers.studies.dail2002.measuring import ACROSS, DYNAMIC, STATIC, STRATEGIES, TIME, USER, at_site
from cosched_papers.studies.dail2002.setup import CASE_STUDY, JACOBI_3, LINKS, OTHERWISE, TESTED, TITLES
from cosched_papers.studies.dail2002.testbed import UCSD, UIUC, UTK
from cosched_sim.results.estimate import jackknifed
from cosched_sim.studies.design import Found
from cosched_sim.studies.measured import pairs
from cosched_sim.studies.paper import Claim, read_claims
from cosched_sim.studies.tables import cell
from cosched_sim.studies.verdicts import Named, Verdict, because, counted, missing, positive


def _worse(found: Found, one: str, *others: str) -> Verdict:
    """Return whether one strategy is more degraded than others, for each application on each testbed."""
    return positive((
        (f"{TITLES[name]}, beside {other}", more_degraded(found, name, one, other))
        for name in TESTED for other in others
    ), " %")  # fmt: skip


def dynamic_varies_least(found: Found) -> Verdict:
    """Check claim: the standard deviation is the least of the three."""
    named: list[Named] = []
    for name in TESTED:
        groups = {of: degradations(found, name, of) for of in STRATEGIES}
        for other in (USER, STATIC):
            both = [(of, groups[DYNAMIC][number]) for number, of in groups[other].items() if number in groups[DYNAMIC]]
            named.append((f"{TITLES[name]}, beside {other}", jackknifed(both, _more_spread) if both else None))
    return positive(named, " %")


def _more_spread(both: Sequence[tuple[Sequence[float], Sequence[float]]]) -> float:
    """Return how much more the first of each two is spread."""
    first, second = zip(*both, strict=True)
    return spread_of(first) - spread_of(second)


def user_is_never_best(found: Found) -> Verdict:
    """Check claim: in three of the four its least degradation is above 0."""
    least = {TITLES[name]: min(chain(*degradations(found, name, USER).values()), default=None) for name in TESTED}
    if None in least.values():
        return missing()
    never = [name for name, value in least.items() if value]
    exceptions = "" if len(never) == 3 else f"it is never the best: {', '.join(never) or 'nowhere'}"
    return counted(f"in {len(never)} of {len(least)}", exceptions)


def static_avoids_utk(found: Found) -> Verdict:
    """Check claim: it takes machines of UCSD and UIUC only."""
    counts = {site: case_study(found, STATIC, at_site(site)) for site in (UCSD, UIUC, UTK)}
    if not all(counts.values()):
        return missing()
    told = {site: sorted({f"{value:g}" for value in values}) for site, values in counts.items()}
    ours = ", ".join(f"{site}: {' or '.join(values)}" for site, values in told.items())
    without = [site for site in (UCSD, UIUC) if min(counts[site]) == 0]
    exceptions = [f"it takes none of {site}" for site in without] + [f"it takes some of {UTK}"] * any(counts[UTK])
    return counted(ours, "; ".join(exceptions))


def dynamic_avoids_slow_links(found: Found) -> Verdict:
    """Check claim: no schedule has machines at UTK and elsewhere."""
    across = case_study(found, DYNAMIC, ACROSS)
    if not across:
        return missing()
    count = sum(value > 0 for value in across)
    ours = f"{count} of {len(across)} across"
    return because(counted(ours, f"{count} of {len(across)} do" if count else ""), lambda: by_bandwidth(found))


def by_bandwidth(found: Found) -> str:
    """Say how many schedules cross UTK's links, by what these give."""
    shares = [(point, found.mean((LINKS, point, DYNAMIC), ACROSS)) for point in OTHERWISE[LINKS][2]]
    told = ", ".join(f"{cell(share)} % at {point:g} Mb/s" for point, share in shares)
    return f"it depends on the bandwidth of these links, which the paper's text does not have: {told}"


def dynamic_is_steadiest(found: Found) -> Verdict:
    """Check claim: its iteration times vary least over the repetitions."""
    times = {of: case_study(found, of, TIME) for of in STRATEGIES}
    if not all(times.values()):
        return missing()
    spreads = {of: jackknifed(values, statistics.pstdev) for of, values in times.items()}
    ours = ", ".join(f"{of} {spread} s" for of, spread in spreads.items())
    named: list[Named] = []
    for other in (USER, STATIC):
        one, two = (((JACOBI_3, float(CASE_STUDY), of), TIME) for of in (other, DYNAMIC))
        both = [([first], [second]) for first, second in pairs(found, one, two)]
        named.append((f"{other} less {DYNAMIC}", jackknifed(both, _more_spread) if both else None))
    reason = "what changes between the choice and the run makes its times vary as much as those of the others"
    return because(replace(positive(named, " s"), ours=ours), lambda: reason)


CHECKS: Mapping[str, Callable[[Found], Verdict]] = {
    "user-worst": lambda r: _worse(r, USER, STATIC, DYNAMIC),
    "dynamic-static": lambda r: _worse(r, STATIC, DYNAMIC),
    "static-user": lambda r: _worse(r, USER, STATIC),
    "low-spread": dynamic_varies_least,
    "never-best": user_is_never_best,
    "static-sites": static_avoids_utk,
    "no-slow-links": dynamic_avoids_slow_links,
    "steadiest": dynamic_is_steadiest,
}


def claims() -> list[Claim[Found]]:
    """Return every claim, in the order of the paper."""
    return read_claims(__file__, CHECKS)
