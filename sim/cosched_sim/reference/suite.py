"""The workloads of the suite, read from their folders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from cosched_sim.reference.results import JobKey, Results, read_csv, read_results

SUITE = Path(__file__).parent
WORKLOADS = SUITE / "workloads"


@dataclass(frozen=True)
class Workload:
    """One folder: traces, pairs, settings, the expected schedule with an explanation, and wrong schedules."""

    folder: Path

    @property
    def name(self) -> str:
        """Its number and name, such as `07-easy-shadow-time`."""
        return self.folder.name

    @property
    def explanation(self) -> str:
        """Its README.md."""
        return (self.folder / "README.md").read_text(encoding="utf-8")

    @property
    def title(self) -> str:
        """Its subject in one line."""
        return self.explanation.partition("\n")[0].removeprefix("# ")

    @property
    def needs(self) -> list[str]:
        """The features that it needs in a simulator."""
        line = next(line for line in self.explanation.splitlines() if line.startswith("Needs: "))
        return line.removeprefix("Needs: ").split(", ")

    @property
    def paired(self) -> bool:
        """Whether it has two clusters and pairs of jobs."""
        return (self.folder / "pairs.csv").exists()

    @cached_property
    def expected(self) -> Results:
        """The right schedule."""
        return read_results(self.folder / "expected.csv")

    @cached_property
    def wrong(self) -> Mapping[str, Mapping[JobKey, str]]:
        """The starts that each mistake gives, for mistakes that change any."""
        found: dict[str, dict[JobKey, str]] = {}
        for _, row in read_csv(self.folder / "mistakes.csv", ("mistake", "domain", "job_id", "start")):
            found.setdefault(row["mistake"], {})[row["domain"], row["job_id"]] = row["start"]
        return found


def workloads() -> list[Workload]:
    """Return all workloads by number."""
    return [Workload(folder) for folder in sorted(WORKLOADS.iterdir()) if folder.is_dir()]


def known_mistakes() -> dict[str, str]:
    """Return common wrong definitions, by name, each with a description."""
    rows = read_csv(SUITE / "mistakes.csv", ("mistake", "what"))
    return {row["mistake"]: row["what"] for _, row in rows}
