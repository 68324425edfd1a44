"""Figures 5 to 16 of the paper with our numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cosched.sim.reports.figures.bars import Panel, Values, grouped_bars
from cosched.sim.reports.figures.figure import Figure
from cosched.sim.reports.figures.style import BLUE, GREY, ORANGE, SKY, VERMILION, Look
from cosched.sim.results.estimate import Estimate
from cosched.sim.studies.weissman2004.goodness import BIN_S, BINS, SIZES
from cosched.sim.studies.weissman2004.measuring import EXEC, TOTAL, WAIT
from cosched.sim.studies.weissman2004.paper.comparisons import baseline
from cosched.sim.studies.weissman2004.results import Results, grid, of_user
from cosched.sim.studies.weissman2004.setup import (
    BACKFILL,
    BASELINES,
    BEST,
    BETAS,
    EVEN_FQ,
    EVEN_FR,
    IDEAL_ONLY,
    LEVELS,
    LINEAR,
    LOW_FQ,
    LOW_FR,
    MODELS,
    MOLDABLE,
    NO_LIMIT,
    POLICIES,
    SHARES,
    column,
    percent,
)

INTERVALS = "Means over traces with 95 % intervals."
LOOKS: Mapping[str, Look] = {
    EVEN_FQ: Look(SKY, "\\\\\\\\"),
    EVEN_FR: Look(ORANGE, "////"),
    LOW_FQ: Look(BLUE),
    LOW_FR: Look(VERMILION, "...."),
    IDEAL_ONLY: Look("#FFFFFF"),
    MOLDABLE: Look(GREY, "xxxx"),
    BACKFILL: Look("#D0D0D0"),
    "log": Look(GREY),
    "model": Look(BLUE, "////"),
}
LEAST = "min_%_of_ideal"
NAMES = {WAIT: "wait", EXEC: "run time", TOTAL: "total time"}
PLACES = (("gauss", 0.5), ("gauss", 0.1), ("mixed", 0.5), ("mixed", 0.1))


def paper_figures(results: Results) -> list[Figure]:
    """Return figures 9 to 16."""
    return [
        _figure_9(results),
        _by_level(results, 10, WAIT),
        _by_level(results, 11, TOTAL),
        _by_share(results, 12, WAIT),
        _by_share(results, 13, TOTAL),
        _figure_14(results),
        _by_beta(results, 15, WAIT),
        _by_beta(results, 16, TOTAL),
    ]


def _figure_9(results: Results) -> Figure:
    best = column(EVEN_FQ, NO_LIMIT)
    panels = [
        Panel(
            f"{NAMES[measure].capitalize()}, {model}",
            f"{NAMES[measure]} (min)",
            LEAST,
            list(map(percent, SHARES)),
            {
                MOLDABLE: [results.average(baseline(model, share, MOLDABLE, measure)) for share in SHARES],
                BACKFILL: [results.average(baseline(model, share, BACKFILL, measure)) for share in SHARES],
                EVEN_FQ: [results.average(grid(model, share, best, measure)) for share in SHARES],
            },
            looks=LOOKS,
        )
        for measure in (WAIT, EXEC, TOTAL)
        for model in MODELS
    ]
    caption = f"Even-H-FQ without a limit beside the baselines; IDEAL-ONLY is in figure 14. {INTERVALS}"
    return grouped_bars("figure-09", "Fig. 9: Even-H-FQ beside the baselines", caption, panels)


def _by_level(results: Results, number: int, measure: str) -> Figure:
    panels = [
        Panel(
            f"{LEAST} = {percent(share)}",
            f"{NAMES[measure]} (min)",
            "M",
            LEVELS,
            {p: [results.average(grid(LINEAR, share, column(p, m), measure)) for m in LEVELS] for p in POLICIES},
            looks=LOOKS,
        )
        for share in SHARES
    ]
    title = f"Fig. {number}: {NAMES[measure]} by the degree of multiprogramming M"
    return grouped_bars(f"figure-{number}", title, f"Linear jobs. {INTERVALS}", panels)


def _by_share(results: Results, number: int, measure: str) -> Figure:
    panels = [
        Panel(
            f"M = {level}",
            f"{NAMES[measure]} (min)",
            LEAST,
            list(map(percent, SHARES)),
            {p: [results.average(grid(LINEAR, s, column(p, level), measure)) for s in SHARES] for p in POLICIES},
            looks=LOOKS,
        )
        for level in LEVELS
    ]
    title = f"Fig. {number}: {NAMES[measure]} by {LEAST}"
    return grouped_bars(f"figure-{number}", title, f"Linear jobs. {INTERVALS}", panels)


def _figure_14(results: Results) -> Figure:
    def series(measure: str, names: Sequence[str]) -> dict[str, Values]:
        found: dict[str, Values] = {
            name: [results.average(baseline(LINEAR, share, name, measure)) for share in SHARES] for name in names
        }
        return {**found, LOW_FR: [results.average(grid(LINEAR, share, BEST, measure)) for share in SHARES]}

    panels = [
        Panel(
            f"{NAMES[measure].capitalize()}, {what}",
            f"{NAMES[measure]} (min)",
            LEAST,
            list(map(percent, SHARES)),
            series(measure, names),
            looks=LOOKS,
        )
        for names, what in ((BASELINES, "all"), (BASELINES[1:], "without IDEAL-ONLY"))
        for measure in (WAIT, TOTAL)
    ]
    caption = f"Low-Imp-FR without a limit, linear jobs. {INTERVALS}"
    return grouped_bars("figure-14", "Fig. 14: the best policy beside the baselines", caption, panels)


def _by_beta(results: Results, number: int, measure: str) -> Figure:
    panels = [
        Panel(
            f"{application}, {LEAST} = {percent(share)}",
            f"{NAMES[measure]} (min)",
            "beta",
            [f"{beta:g}" for beta in BETAS],
            {
                LOW_FR if name == BEST else name: [
                    results.average(of_user(application, beta, share, name, measure)) for beta in BETAS
                ]
                for name in (*BASELINES, BEST)
            },
            looks=LOOKS,
        )
        for application, share in PLACES
    ]
    title = f"Fig. {number}: {NAMES[measure]} of one user's jobs by beta"
    return grouped_bars(f"figure-{number}", title, f"Low-Imp-FR without a limit. {INTERVALS}", panels)


def fit_figures(fits: Sequence[Mapping[str, Any]]) -> Iterator[Figure]:
    """Yield figures 5 to 8 of each log, as one."""
    labels = {
        "hour": ("Fig. 5: submissions by hour of day", "hour", [str(hour) for hour in range(24)]),
        "gap": ("Fig. 6: gaps between submissions", f"bin of {BIN_S} s", _bins()),
        "size": ("Fig. 7: sizes", "nodes", [*map(str, SIZES), "others"]),
        "run": ("Fig. 8: run times", f"bin of {BIN_S} s", _bins()),
    }
    for number, fit in enumerate(fits, 1):
        panels = [
            Panel(
                title,
                "share of the jobs (%)",
                axis,
                groups,
                {name: list(map(Estimate, shares)) for name, shares in fit["histograms"][what].items()},
                looks=LOOKS,
            )
            for what, (title, axis, groups) in labels.items()
        ]
        caption = (
            f"The {fit['jobs']:,} jobs of the log that ran, and 50,000 drawn ones; the last bins have all longer times."
        )
        yield grouped_bars(f"figures-05-to-08-{number}", f"Figs. 5 to 8: {fit['name']} and its model", caption, panels)


def _bins() -> list[str]:
    return [str(place) if place % 4 == 1 else "" for place in range(1, BINS)] + ["more"]
