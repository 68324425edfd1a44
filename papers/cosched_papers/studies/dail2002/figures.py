"""Figures 4 to 6 of the paper with our numbers; the text of the paper has no values of its figures."""

from __future__ import annotations

from cosched_papers.studies.dail2002.comparisons import case_study, mean_degradation
from cosched_papers.studies.dail2002.measuring import DYNAMIC, STATIC, STRATEGIES, TIME, USER, at_site
from cosched_papers.studies.dail2002.setup import TESTED, TITLES
from cosched_papers.studies.dail2002.testbed import SITES
from cosched_sim.reports.figures.bars import Panel, grouped_bars
from cosched_sim.reports.figures.figure import Figure
from cosched_sim.reports.figures.style import BLUE, GREY, SKY, VERMILION, Look
from cosched_sim.results.estimate import Estimate
from cosched_sim.studies.design import Found

LOOKS = {USER: Look(GREY, "xxxx"), STATIC: Look(SKY, "////"), DYNAMIC: Look(BLUE)}
OF_SITES = dict(zip(SITES, (Look(BLUE), Look(VERMILION, "...."), Look(SKY, "////")), strict=True))


def paper_figures(found: Found) -> list[Figure]:
    """Return figures 4, 5 and 6."""
    return [_degradations(found), _times(found), _machines(found)]


def _degradations(found: Found) -> Figure:
    series = {of: [mean_degradation(found, name, of) for name in TESTED] for of in STRATEGIES}
    groups = [TITLES[name].replace(", ", ",\n") for name in TESTED]
    panel = Panel("all sizes", "degradation from the best (%)", "", groups, series, looks=LOOKS)
    caption = "Means over sizes and repetitions with 95 % intervals."
    return grouped_bars("figure-4", "Fig. 4: degradation from the best", caption, [panel])


def _times(found: Found) -> Figure:
    series = {of: [Estimate(value) for value in case_study(found, of, TIME)] for of in STRATEGIES}
    groups = [str(number) for number in range(1, len(series[USER]) + 1)]
    panel = Panel("Jacobi, three sites, N = 16,800", "iteration time (s)", "repetition", groups, series, looks=LOOKS)
    return grouped_bars("figure-5", "Fig. 5: iteration times of the case study", "One run each.", [panel])


def _machines(found: Found) -> Figure:
    """Return the machines of each site: those of the user and of the static search are always the same."""
    count = len(case_study(found, DYNAMIC, TIME))
    shown = {USER: 1, STATIC: 1, DYNAMIC: count}
    series = {
        site: [Estimate(of) for name, most in shown.items() for of in case_study(found, name, at_site(site))[:most]]
        for site in SITES
    }
    groups = [USER, STATIC, *map(str, range(1, count + 1))][: len(series[SITES[0]])]
    panel = Panel("Jacobi, three sites, N = 16,800", "machines", "dynamic: repetition", groups, series, looks=OF_SITES)
    return grouped_bars("figure-6", "Fig. 6: machines that were chosen in the case study", "One choice each.", [panel])
