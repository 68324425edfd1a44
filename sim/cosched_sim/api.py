"""For Python programs and notebooks: replays whose results show themselves, and write their files and reports."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from html import escape
from pathlib import Path
from typing import Any

from cosched.validation.schemes import SchemeChoice
from cosched.words.quantities import count, duration, number, percent
from cosched_sim import replaying
from cosched_sim.configuration import Domain, ReplayConfig, replay_config
from cosched_sim.reports.figures.figure import Figure
from cosched_sim.reports.figures.replay_figures import replay_figures
from cosched_sim.reports.rebuilding import rebuild
from cosched_sim.reports.run import read_run
from cosched_sim.results.output import RunInfo, write_run
from cosched_sim.results.result import ReplayResult
from cosched_sim.results.wording import groups_line, pairs_line

COMMAND = "cosched_sim"  # what a summary names as the command
COLUMNS = ("domain", "scheme", "jobs", "paired", "mean wait", "mean slowdown", "mean sync time", "utilisation", "held")


@dataclass(frozen=True, eq=False, repr=False)
class Result(ReplayResult):
    """The result of a replay; `seed` is that of drawn traces and pairs."""

    seed: int = 0

    def write(self, folder: str | Path) -> Path:
        """Write the files of `cosched replay --out` to a folder, all or none, and return its path; OSError."""
        write_run(self, folder, RunInfo(COMMAND, self.seed, time.perf_counter() - sum(self.timing.values())))
        return Path(folder)

    def report(self, folder: str | Path | None = None) -> Path:
        """Write files, figures and report to a folder (None: a new one, which stays); return report.html; OSError."""
        folder = Path(tempfile.mkdtemp(prefix="cosched-"), "report") if folder is None else folder
        return rebuild(self.write(folder))

    def figures(self) -> list[Figure]:
        """Return the figures of the report, with their numbers (`table`); each shows itself in a notebook."""
        with tempfile.TemporaryDirectory() as folder:  # figures are drawn from the files of a run
            return replay_figures(read_run(self.write(folder)))

    def __repr__(self) -> str:
        domains = ", ".join(f"{name}: {count(len(of.workload), 'job')}" for name, of in self.domains.items())
        return f"<Result {domains}; {'; '.join(self._mates())}>"

    def _repr_html_(self) -> str:
        rows = [_row("th", COLUMNS), *(_row("td", self._cells(name)) for name in self.domains)]
        lines = "".join(f"<p>{escape(line)}</p>" for line in self._mates())
        return f"<table>{''.join(rows)}</table>{lines}"

    def _mates(self) -> list[str]:
        return [pairs_line(self.pairs), *([groups_line(self.groups)] if self.pairing.groups else [])]

    def _cells(self, name: str) -> list[str]:
        said = self.domains[name].metrics
        return [
            name,
            said["scheme"],
            f"{said['jobs']:,}",
            f"{said['paired']['jobs']:,}",
            duration(said["all"]["wait_s"]["mean"]),
            number(said["all"]["slowdown"]["mean"]),
            duration(said["paired"]["sync_s"]["mean"]),
            percent(said["utilisation"]),
            percent(said["held_share"], 2),
        ]


class Replay(replaying.Replay):
    """Job logs, read, cleaned and paired, ready to be simulated under several schemes."""

    def run(self, schemes: Sequence[SchemeChoice] | None = None) -> Result:
        """Simulate with the configured schemes, or with `schemes` (one a domain)."""
        result = super().run(schemes)
        return Result(**{field.name: getattr(result, field.name) for field in fields(result)}, seed=self.config.seed)


def replay(domains: Sequence[Domain], *, say: Callable[[str], None] = lambda _: None, **options: Any) -> Result:
    """Replay job logs of coupled clusters; `options` are the other fields of ReplayConfig (pairs=FILE, ...).

    `say` gets messages about jobs left out and kernels being compiled. InputError for settings that cannot be used.
    """
    return run(replay_config("replay", {"domains": tuple(domains), **options}), say)


def run(config: ReplayConfig, say: Callable[[str], None] = lambda _: None) -> Result:
    """Carry out one replay."""
    return Replay(config, say).run()


def _row(tag: str, cells: Iterable[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"
