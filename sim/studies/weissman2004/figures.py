"""Figures 5 to 16 of the paper with our numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cosched.sim.reports.figures.bars import Panel, Values, grouped_bars
from cosched.sim.reports.figures.figure import Figure
from cosched.sim.reports.figures.style import BLUE, GREY, ORANGE, SKY, VERMILION, Look
from cosched.sim.results.estimate import Estimate
from cosched.sim.studies.weissman2004 import setup
from cosched.sim.studies.weissman2004.comparisons import baseline
from cosched.sim.studies.weissman2004.goodness import BIN_S, BINS, SIZES
from cosched.sim.studies.weissman2004.measuring import EXEC, TOTAL, WAIT
from cosched.sim.studies.weissman2004.results import Results, grid, of_user
from cosched.sim.studies.weissman2004.setup import BEST, LINEAR, column, percent

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
PLACES = (("gauss", 0.5), ("gauss", 0.1), ("mixed", 0.5), ("mixed", 0.1))


def paper_figures(results: Results) -> list[Figure]:
    """Return figures 9 to 16."""
    mean = results.average
    shares, no_limit = list(map(percent, setup.SHARES)), column(setup.EVEN_FQ, setup.NO_LIMIT)

    def by_share(model: str, measure: str, *names: str) -> dict[str, Values]:
        return {name: [mean(baseline(model, share, name, measure)) for share in setup.SHARES] for name in names}

    def of_policies(measure: str, share: float | None = None, level: str = "") -> dict[str, Values]:
        """At one share by level, or at one level by share."""
        places = [(share, each) for each in setup.LEVELS] if share else [(each, level) for each in setup.SHARES]
        return {p: [mean(grid(LINEAR, s, column(p, m), measure)) for s, m in places] for p in setup.POLICIES}

    nine = [
        _panel(measure, f", {model}", LEAST, shares, {
            **by_share(model, measure, setup.MOLDABLE, setup.BACKFILL),
            setup.EVEN_FQ: [mean(grid(model, share, no_limit, measure)) for share in setup.SHARES]
        })
        for measure in (WAIT, EXEC, TOTAL) for model in setup.MODELS
    ]  # fmt: skip
    fourteen = [
        _panel(measure, f", {what}", LEAST, shares, {
            **by_share(LINEAR, measure, *names),
            setup.LOW_FR: [mean(grid(LINEAR, share, BEST, measure)) for share in setup.SHARES]
        })
        for names, what in ((setup.BASELINES, "all"), (setup.BASELINES[1:], "without IDEAL-ONLY"))
        for measure in (WAIT, TOTAL)
    ]  # fmt: skip
    found = [
        _figure(9, "Even-H-FQ beside the baselines", nine, NINE),
        _figure(14, "the best policy beside the baselines", fourteen, "Low-Imp-FR without a limit, linear jobs."),
    ]
    for number, measure in enumerate((WAIT, TOTAL)):
        name = NAMES[measure]
        levels = [
            _titled(f"{LEAST} = {percent(s)}", name, "M", setup.LEVELS, of_policies(measure, s)) for s in setup.SHARES
        ]
        found.append(_figure(10 + number, f"{name} by the degree of multiprogramming M", levels, "Linear jobs."))
        least = [_titled(f"M = {m}", name, LEAST, shares, of_policies(measure, level=m)) for m in setup.LEVELS]
        found.append(_figure(12 + number, f"{name} by {LEAST}", least, "Linear jobs."))
        users = [_of_user(results, name, application, share, measure) for application, share in PLACES]
        text = "Low-Imp-FR without a limit."
        found.append(_figure(15 + number, f"{name} of one user's jobs by beta", users, text))
    return sorted(found, key=lambda figure: figure.name)


def _of_user(results: Results, name: str, application: str, share: float, measure: str) -> Panel:
    series = {
        setup.LOW_FR if policy == BEST else policy: [
            results.average(of_user(application, beta, share, policy, measure)) for beta in setup.BETAS
        ]
        for policy in (*setup.BASELINES, BEST)
    }
    betas = [f"{beta:g}" for beta in setup.BETAS]
    return _titled(f"{application}, {LEAST} = {percent(share)}", name, "beta", betas, series)


def _figure(number: int, title: str, panels: Sequence[Panel], caption: str) -> Figure:
    return grouped_bars(f"figure-{number:02}", f"Fig. {number}: {title}", f"{caption} {INTERVALS}", panels)


def _panel(measure: str, what: str, axis: str, groups: Sequence[str], series: Mapping[str, Values]) -> Panel:
    return _titled(f"{NAMES[measure].capitalize()}{what}", NAMES[measure], axis, groups, series)


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
