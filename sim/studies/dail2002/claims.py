"""The claims of the paper, each with what decides it."""

from __future__ import annotations

import statistics
from pathlib import Path

from cosched.sim.results.estimate import Estimate
from cosched.sim.studies.dail2002.comparisons import case_study, degradations, more_degraded
from cosched.sim.studies.dail2002.measuring import ACROSS, DYNAMIC, STATIC, STRATEGIES, TIME, USER, at_site
from cosched.sim.studies.dail2002.setup import LINKS, OTHERWISE, TESTED, TITLES
from cosched.sim.studies.dail2002.testbed import UCSD, UIUC, UTK
from cosched.sim.studies.design import Found
from cosched.sim.studies.paper import Claim, Verdict, because, missing, positive, read_claims


def _worse(found: Found, one: str, *others: str) -> Verdict:
    """Whether one strategy is more degraded than others, for each application on each testbed."""
    return positive(
        [
            (f"{TITLES[name]}, beside {other}", more_degraded(found, name, one, other))
            for name in TESTED for other in others
        ],
        " %",
    )  # fmt: skip


def user_is_worst(found: Found) -> Verdict:
    """Check claim: the user strategy is outperformed by both others."""
    return _worse(found, USER, STATIC, DYNAMIC)


def static_beats_user(found: Found) -> Verdict:
    """Check claim: so it is without information about the moment."""
    return _worse(found, USER, STATIC)


def dynamic_beats_static(found: Found) -> Verdict:
    """Check claim: information about the moment helps."""
    return _worse(found, STATIC, DYNAMIC)


def dynamic_varies_least(found: Found) -> Verdict:
    """Check claim: the standard deviation is the least of the three."""
    values = {TITLES[name]: [degradations(found, name, of) for of in STRATEGIES] for name in TESTED}
    if not all(map(all, values.values())):
        return missing()
    spreads = {title: list(map(statistics.pstdev, of)) for title, of in values.items()}
    named = [(title, Estimate(min(user, static) - dynamic)) for title, (user, static, dynamic) in spreads.items()]
    return positive(named, " %")


def user_is_never_best(found: Found) -> Verdict:
    """Check claim: in three of the four its least degradation is above 0."""
    least = {TITLES[name]: min(degradations(found, name, USER), default=None) for name in TESTED}
    if None in least.values():
        return missing()
    never = [name for name, value in least.items() if value]
    ours = f"in {len(never)} of {len(least)}"
    return Verdict(len(never) == 3, ours, "" if len(never) == 3 else f"never the best: {', '.join(never) or 'nowhere'}")


def static_avoids_utk(found: Found) -> Verdict:
    """Check claim: it takes machines of UCSD and UIUC only."""
    counts = {site: case_study(found, STATIC, at_site(site)) for site in (UCSD, UIUC, UTK)}
    if not all(counts.values()):
        return missing()
    ours = ", ".join(f"{site}: {values[0]:g}" for site, values in counts.items())
    return Verdict(counts[UTK][0] == 0 < min(counts[UCSD][0], counts[UIUC][0]), ours)


def dynamic_avoids_slow_links(found: Found) -> Verdict:
    """Check claim: no schedule has machines at UTK and elsewhere."""
    across = case_study(found, DYNAMIC, ACROSS)
    if not across:
        return missing()
    count = sum(value > 0 for value in across)
    ours = f"{count} of {len(across)} across"
    return because(Verdict(count == 0, ours), lambda: by_bandwidth(found))


def by_bandwidth(found: Found) -> str:
    """Say how many schedules cross UTK's links, by what these give."""
    shares = [(point, found.mean((LINKS, point, DYNAMIC), ACROSS)) for point in OTHERWISE[LINKS][2]]
    told = ", ".join(f"{share.mean:.0f} % at {point:g} Mb/s" for point, share in shares if share is not None)
    return f"it depends on the bandwidth of these links, which the paper's text does not have: {told}"


def dynamic_is_steadiest(found: Found) -> Verdict:
    """Check claim: its iteration times vary least over the repetitions."""
    times = {of: case_study(found, of, TIME) for of in STRATEGIES}
    if not all(times.values()):
        return missing()
    spreads = {of: statistics.pstdev(values) for of, values in times.items()}
    ours = ", ".join(f"{of} {spread:.2f} s" for of, spread in spreads.items())
    steadiest = min(spreads, key=lambda of: spreads[of])
    reason = "what changes between the choice and the run makes its times vary as much as those of the others"
    return Verdict(steadiest == DYNAMIC, ours, "" if steadiest == DYNAMIC else reason)


CHECKS = {
    "user-worst": user_is_worst,
    "dynamic-static": dynamic_beats_static,
    "static-user": static_beats_user,
    "low-spread": dynamic_varies_least,
    "never-best": user_is_never_best,
    "static-sites": static_avoids_utk,
    "no-slow-links": dynamic_avoids_slow_links,
    "steadiest": dynamic_is_steadiest,
}


def claims() -> list[Claim[Found]]:
    """Return every claim, in the order of the paper."""
    return read_claims(Path(__file__).with_name("claims.csv"), CHECKS)
