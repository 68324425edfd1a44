"""The qualitative claims of 4.4: the list of all, and those on one user's jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from cosched.sim.results.estimate import Estimate
from cosched.sim.studies.claims import Claim, Named, Verdict, all_of, because, positive
from cosched.sim.studies.statements import Checked
from cosched.sim.studies.weissman2004.measuring import RATE, TOTAL, WAIT
from cosched.sim.studies.weissman2004.paper.claims_by_level import claims_by_level
from cosched.sim.studies.weissman2004.paper.claims_by_share import claims_by_share
from cosched.sim.studies.weissman2004.paper.numbers import SHARES_3, SHOWN
from cosched.sim.studies.weissman2004.results import Results, of_user
from cosched.sim.studies.weissman2004.setup import (
    BACKFILL,
    BASELINES,
    BEST,
    BETAS,
    GAUSS,
    IDEAL_ONLY,
    MOLDABLE,
    SEQUENCES,
    STENCIL,
    percent,
)

RAREST, DENSEST = BETAS[-1], BETAS[0]


def claims() -> list[Claim[Results]]:
    """Return all claims."""
    return [*claims_by_level(), *claims_by_share(), *_of_users()]


def check_claims(results: Results) -> list[Checked]:
    """Check every claim."""
    return [Checked(claim, claim.check(results)) for claim in claims()]


def _of_users() -> Iterator[Claim[Results]]:
    yield Claim(
        "Fig. 15",
        "Low-Imp-FR has the least waits at every beta",
        "iScheduling policies improved waiting time for all values of",
        "GE and MIXED, 50, 30 and 10 %: every baseline waits longer, on the same traces",
        lambda results: positive(_beyond(results, SHOWN, WAIT), " min"),
    )
    yield Claim(
        "Fig. 15",
        "Its advantage in waits grows with beta",
        "but the improvement increases as",
        "Low-Imp-FR's wait, in per cent of that of IDEAL-ONLY, is less at beta 1 than at 0.25",
        lambda results: _grows(results, WAIT, (RAREST, DENSEST)),
    )
    yield Claim(
        "Fig. 16",
        "Low-Imp-FR has the least total times",
        "For all applications, iScheduling improved the total time relative to all other policies",
        "GE, MIXED, STEN and CL, 50, 30 and 10 %: every baseline takes longer, on the same traces",
        lambda results: positive(_beyond(results, (*SHOWN, STENCIL, SEQUENCES), TOTAL), " min"),
    )
    yield Claim(
        "Fig. 16",
        "Its advantage in total times grows as beta decreases",
        "iScheduling is able to achieve better performance in the face of increased resource contention",
        "Low-Imp-FR's total, in per cent of that of IDEAL-ONLY, is less at beta 0.25 than at 1",
        _grows_with_contention,
    )
    yield Claim(
        "4.4",
        "The pattern for STEN and CL is similar",
        "the pattern for STEN and CL is similar",
        "Low-Imp-FR waits less than every baseline there, too",
        lambda results: positive(_beyond(results, (STENCIL, SEQUENCES), WAIT), " min"),
    )
    yield Claim(
        "Table 3",
        "Low-Imp-FR has the highest throughput",
        "The throughput results confirm the iScheduling is generally superior to all methods",
        "GE, every beta and 50, 30, 10 %: above every baseline, on the same traces",
        lambda results: positive(_faster(results), "/h"),
    )
    yield Claim(
        "Table 3",
        "A smaller least size means more throughput",
        "allowing more jobs to enter the system and more jobs to finish per unit time",
        "Low-Imp-FR, from 50 to 30 and from 30 to 10 %, at every beta but 1",
        lambda results: positive(_steps(results, BEST, SHARES_3), "/h"),
    )
    yield Claim(
        "Table 3",
        "MOLDABLE suffers when the least size is too small",
        "moldable suffers because it has no way to replenish running jobs with resources",
        "at every beta, MOLDABLE has less at 10 % than at 30 %",
        lambda results: positive(_steps(results, MOLDABLE, (0.1, 0.3), BETAS), "/h"),
    )
    yield Claim(
        "Table 3",
        "Low-Imp-FR is the most sensitive to beta",
        "(more spacing between jobs) because it is able to keep up with the job stream at higher arrival rates",
        "from beta 0.25 to 1 it loses more jobs/hr than every baseline, at 50, 30 and 10 %",
        _sensitive,
    )


def _beyond(results: Results, applications: Sequence[str], measure: str) -> list[Named]:
    """Return how much more each baseline has than the best policy."""
    return [
        (
            f"{name}, {application}, {percent(share)}, beta {beta:g}",
            results.more(
                of_user(application, beta, share, name, measure), of_user(application, beta, share, BEST, measure)
            ),
        )
        for application in applications
        for beta in BETAS
        for share in SHARES_3
        for name in BASELINES
    ]


def _faster(results: Results) -> list[Named]:
    return [
        (
            f"{name}, {percent(share)}, beta {beta:g}",
            results.more(of_user(GAUSS, beta, share, BEST, RATE), of_user(GAUSS, beta, share, name, RATE)),
        )
        for beta in BETAS
        for share in SHARES_3
        for name in BASELINES
    ]


def _steps(results: Results, name: str, shares: Sequence[float], betas: Sequence[float] = BETAS[:-1]) -> list[Named]:
    """Return how much more throughput there is at each share than at the one before."""
    return [
        (
            f"from {percent(before)} to {percent(after)} at beta {beta:g}",
            results.more(of_user(GAUSS, beta, after, name, RATE), of_user(GAUSS, beta, before, name, RATE)),
        )
        for beta in betas
        for before, after in pairwise(shares)
    ]


def _grows(results: Results, measure: str, betas: tuple[float, float]) -> Verdict:
    """Hold if the share of IDEAL-ONLY's time that is left is less at the first beta than at the second one."""
    found: list[Named] = []
    for application in SHOWN:
        for share in SHARES_3:
            first, then = (results.user_share(application, b, share, IDEAL_ONLY, measure) for b in betas)
            if first is not None and then is not None:
                less = Estimate(100 * (then.mean - first.mean), 100 * ((first.half or 0) + (then.half or 0)))
                found.append((f"{application}, {percent(share)}", less))
    return positive(found, " %")


def _grows_with_contention(results: Results) -> Verdict:
    verdict = _grows(results, TOTAL, (DENSEST, RAREST))
    return because(
        verdict,
        lambda: (
            "the paper says the opposite of waits (figure 15). Under IDEAL-ONLY the queue grows with the trace at any "
            "beta, and at a large one Low-Imp-FR keeps up, so the advantage is greatest there"
        ),
    )


def _sensitive(results: Results) -> Verdict:
    def loss(name: str, share: float) -> Callable[[], Estimate | None]:
        return lambda: results.more(
            of_user(GAUSS, DENSEST, share, name, RATE), of_user(GAUSS, RAREST, share, name, RATE)
        )

    found: list[Named] = []
    for share in SHARES_3:
        ours = loss(BEST, share)()
        for name in (IDEAL_ONLY, MOLDABLE, BACKFILL):
            theirs = loss(name, share)()
            if ours is not None and theirs is not None:
                half = (ours.half or 0) + (theirs.half or 0)
                found.append((f"{name}, {percent(share)}", Estimate(ours.mean - theirs.mean, half)))
    return all_of(found, lambda value: value.mean > 0, "/h")
