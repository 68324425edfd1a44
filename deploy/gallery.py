"""Draws the pictures of docs/gallery.md: `python -m deploy.gallery FOLDER` (`make docs`)."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from cosched.validation.schemes import SchemeChoice
from cosched_sim import Domain, Replay, ReplayConfig
from cosched_sim.combinations import compared
from cosched_sim.reports.figures.figure import write_figure
from cosched_sim.reports.of_comparison import comparison_page
from cosched_sim.results.output import RunInfo, summary
from cosched_sim.results.staging import FIGURES

DAYS = 6
SCHEMES = {"intrepid": SchemeChoice.HOLD, "eureka": SchemeChoice.YIELD}
OUTAGE = "2d down eureka 40\n3d up eureka 40\n"  # as the lines of a --script file
SEED = 1


def draw(folder: Path) -> list[Path]:
    """Draw all pictures into `folder`, which is made if necessary; return their paths. OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        stage = Path(name)
        Replay(_config(script=OUTAGE)).run().report(stage)
        _draw_comparison(stage / FIGURES)
        return [Path(shutil.copy(picture, folder)) for picture in sorted((stage / FIGURES).glob("*.svg"))]


def _draw_comparison(folder: Path) -> None:
    replay = Replay(_config())
    runs = {name: summary(replay.run(each), _info()) for name, each in compared(replay.config).items()}
    said = {"version": "", "command": "", "seed": SEED, "combinations": runs}
    for figure in comparison_page(said).sections[0].figures:
        write_figure(figure, folder)


def _config(**options: Any) -> ReplayConfig:
    domains = tuple(Domain(name=name, trace=f"generated:{name}/days={DAYS}", scheme=of) for name, of in SCHEMES.items())
    return ReplayConfig(domains=domains, pair_window=120, seed=SEED, **options)


def _info() -> RunInfo:
    return RunInfo("make docs", SEED, time.perf_counter())


if __name__ == "__main__":
    draw(Path(sys.argv[1]))
