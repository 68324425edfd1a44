"""Figures 5 to 16 of the paper with our numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cosched_papers.studies.weissman2004 import setup
from cosched_papers.studies.weissman2004.comparisons import baseline
from cosched_papers.studies.weissman2004.goodness import BIN_S, BINS, SIZES
from cosched_papers.studies.weissman2004.measuring import EXEC, TOTAL, WAIT
from cosched_papers.studies.weissman2004.results import Results, grid, linear, of_user
from cosched_papers.studies.weissman2004.setup import BEST, LINEAR, column, percent
from cosched_sim.reports.figures.bars import Panel, Values, grouped_bars
from cosched_sim.reports.figures.figure import Figure
from cosched_sim.reports.figures.style import BLUE, GREY, ORANGE, SKY, VERMILION, Look
from cosched_sim.results.estimate import Estimate
from cosched_sim.studies.measured import average

NINE = f"{setup.EVEN_FQ} without a limit beside the baselines; IDEAL-ONLY is in figure 14."
INTERVALS = "Means over traces with 95 % intervals."
LOOKS: Mapping[str, Look] = {
    setup.EVEN_FQ: Look(SKY, "\\\\\\\\"),
    setup.EVEN_FR: Look(ORANGE, "////"),
    setup.LOW_FQ: Look(BLUE),
    setup.LOW_FR: Look(VERMILION, "...."),
    setup.IDEAL_ONLY: Look("#FFFFFF"),
    setup.MOLDABLE: Look(GREY, "xxxx"),
    setup.BACKFILL: Look("#D0D0D0"),
    "log": Look(GREY),
    "model": Look(BLUE, "////"),
}
LEAST = "min_%_of_ideal"
NAMES = {WAIT: "wait", EXEC: "run time", TOTAL: "total time"}
SAID = list(map(percent, setup.SHARES))
PLACES = (("gauss", 0.5), ("gauss", 0.1), ("mixed", 0.5), ("mixed", 0.1))


def paper_figures(results: Results) -> list[Figure]:
    """Return figures 9 to 16."""
    ours, baselines = column(setup.EVEN_FQ, setup.NO_LIMIT), (setup.MOLDABLE, setup.BACKFILL)
    nine = [
        _beside(results, model, measure, model, baselines, ours)
        for measure in (WAIT, EXEC, TOTAL)
        for model in setup.MODELS
    ]
    fourteen = [
        _beside(results, LINEAR, measure, what, names, BEST)
        for names, what in ((setup.BASELINES, "all"), (setup.BASELINES[1:], "without IDEAL-ONLY"))
        for measure in (WAIT, TOTAL)
    ]
    found = [
        _figure(9, "Even-H-FQ beside the baselines", nine, NINE),
        _figure(14, "the best policy beside the baselines", fourteen, "Low-Imp-FR without a limit, linear jobs."),
        *_of_measure(results, 0, WAIT),
        *_of_measure(results, 1, TOTAL),
    ]
    return sorted(found, key=lambda figure: figure.name)


def _beside(results: Results, model: str, measure: str, what: str, baselines: Sequence[str], policy: str) -> Panel:
    """Show a policy without a limit beside baselines, by min_%_of_ideal."""
    places = {name: [baseline(model, share, name, measure) for share in setup.SHARES] for name in baselines}
    name = policy.removesuffix(f" {setup.NO_LIMIT}")
    places[name] = [grid(model, share, policy, measure) for share in setup.SHARES]
    series = {name: [average(results, each) for each in of] for name, of in places.items()}
    return _titled(f"{NAMES[measure].capitalize()}, {what}", NAMES[measure], LEAST, SAID, series)


def _of_measure(results: Results, number: int, measure: str) -> Iterator[Figure]:
    """Yield figures 10, 12 and 15, or those after them."""

    def of_policies(places: Sequence[tuple[float, str]]) -> dict[str, Values]:
        return {p: [average(results, linear(s, p, m, measure)) for s, m in places] for p in setup.POLICIES}

    name, levels, shares = NAMES[measure], setup.LEVELS, setup.SHARES
    panels = [
        _titled(f"{LEAST} = {percent(s)}", name, "M", levels, of_policies([(s, m) for m in levels])) for s in shares
    ]
    yield _figure(10 + number, f"{name} by the degree of multiprogramming M", panels, "Linear jobs.")
    panels = [_titled(f"M = {m}", name, LEAST, SAID, of_policies([(s, m) for s in shares])) for m in levels]
    yield _figure(12 + number, f"{name} by {LEAST}", panels, "Linear jobs.")
    panels = [_of_user(results, name, application, share, measure) for application, share in PLACES]
    yield _figure(15 + number, f"{name} of one user's jobs by beta", panels, "Low-Imp-FR without a limit.")


def _of_user(results: Results, name: str, application: str, share: float, measure: str) -> Panel:
    series = {
        setup.LOW_FR if policy == BEST else policy: [
            average(results, of_user(application, beta, share, policy, measure)) for beta in setup.BETAS
        ]
        for policy in (*setup.BASELINES, BEST)
    }
    betas = [f"{beta:g}" for beta in setup.BETAS]
    return _titled(f"{application}, {LEAST} = {percent(share)}", name, "beta", betas, series)


def _figure(number: int, title: str, panels: Sequence[Panel], caption: str) -> Figure:
    return grouped_bars(f"figure-{number:02}", f"Fig. {number}: {title}", f"{caption} {INTERVALS}", panels)


def _titled(title: str, name: str, axis: str, groups: Sequence[str], series: Mapping[str, Values]) -> Panel:
    return Panel(title, f"{name} (min)", axis, groups, series, looks=LOOKS)


def fit_figures(fits: Sequence[Mapping[str, Any]]) -> Iterator[Figure]:
    """Yield figures 5 to 8 of each log, as one."""
    labels = {
        "hour": ("Fig. 5: submissions by hour of day", "hour", [str(hour) for hour in range(24)]),
        "gap": ("Fig. 6: gaps between submissions", f"bin of {BIN_S} s", _bins()),
        "size": ("Fig. 7: sizes", "nodes", [*map(str, SIZES), "others"]),
        "run": ("Fig. 8: run times", f"bin of {BIN_S} s", _bins()),
    }
    for number, fit in enumerate(fits, 1):
        panels = []
        for what, (title, axis, groups) in labels.items():
            both = {name: list(map(Estimate, shares)) for name, shares in fit["histograms"][what].items()}
            panels.append(Panel(title, "share of the jobs (%)", axis, groups, both, looks=LOOKS))
        caption = (
            f"The {fit['jobs']:,} jobs of the log that ran, and 50,000 drawn ones; the last bins have all longer times."
        )
        yield grouped_bars(f"figures-05-to-08-{number}", f"Figs. 5 to 8: {fit['name']} and its model", caption, panels)


def _bins() -> list[str]:
    return [str(place) if place % 4 == 1 else "" for place in range(1, BINS)] + ["more"]
