"""A study of one's own (CONTRIBUTING.md): does a boost after each yield bring mates together sooner?

Tang et al. (2011), IV-E: "Another option is to increase the priority of the job after it yields each time."
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cosched_sim.reports.figures.bars import Panel, grouped_bars
from cosched_sim.reports.page import Section
from cosched_sim.studies import design
from cosched_sim.studies.cases import StudyCase, replayed
from cosched_sim.studies.design import Asked, Design, Experiment, Found
from cosched_sim.studies.paper import Beside, Claim
from cosched_sim.studies.study import Said, Study
from cosched_sim.studies.verdicts import Verdict, positive

MACHINES = ("intrepid", "eureka")
SYNC, WAIT = "sync time of mates", "wait of other jobs"  # minutes, in the mean over the machines
BOOSTS = (0.0, 0.2, 1.0)

WORDS = {
    "title": "A boost after each yield",
    "subtitle": "Whether it brings mates together sooner",
    "setup": "Months of Intrepid and Eureka; jobs submitted within two minutes are mates, and both machines yield.",
    "meaning": "YY: both machines yield.",
    "measures": "In minutes. The sync time of a mate is from when it was ready first to its start.",
    "first": (
        "Do mates start sooner if a job that yields comes forward in its queue?",
        "Without a boost a mate waits {none} min for the other one, with the greatest boost {most} min.",
        "{score}",
        "What is open is so since there are few months: {counted}.",
        "Try a boost with your own logs before you set one: it takes the places of other jobs.",
    ),
}


def experiments(said: Said, _: Path) -> list[Experiment]:
    """Return what varies: the boost."""

    def settings(boost: float, schemes: str, replication: int) -> dict[str, Any]:
        month = f"days={said['days']:g}"
        common = {"scheme": "yield", "yield_boost": boost}
        domains = [{"name": name, "trace": f"generated:{name}/{month}", **common} for name in MACHINES]
        return {"domains": domains, "pair_window": 120, "seed": said["seed"] + replication - 1}

    count = said["replications"]
    return [Experiment("boost", "By the boost", "boost", BOOSTS, ("YY",), settings, replications=count)]


def measures(case: StudyCase) -> dict[str, float]:
    """Replay a case."""
    domains = replayed(case.settings).summary()["domains"].values()
    sync = [domain["paired"]["sync_s"]["mean"] for domain in domains]
    wait = [domain["unpaired"]["wait_s"]["mean"] for domain in domains]
    return {SYNC: sum(sync) / len(sync) / 60, WAIT: sum(wait) / len(wait) / 60}


def compared(experiment: Experiment) -> Asked:
    """Compare each boost with none."""
    none, *others = experiment.places
    for place in others:
        for measure in (SYNC, WAIT):
            yield place, none, measure


def values(found: Found) -> Mapping[str, object]:
    """Return what the first sentences tell."""
    none, most = (found.mean(("boost", boost, "YY"), SYNC) for boost in (BOOSTS[0], BOOSTS[-1]))
    return {"none": none, "most": most, "counted": found.counted}


def sooner(found: Found) -> Verdict:
    """Check the claim: with any boost the sync time is shorter, on the same jobs."""
    none, *others = found.experiments[0].places
    return positive([(f"boost {place[1]:g}", found.difference(none, place, SYNC)) for place in others], " min")


def sections(found: Found) -> Iterator[Section]:
    """Yield a figure, and the tables that a study has without sections of its own."""
    series = {measure: [found.mean(place, measure) for _, place in found.places] for measure in (SYNC, WAIT)}
    panel = Panel("Both machines yield", "minutes", "boost", [f"{boost:g}" for boost in BOOSTS], series)
    caption = "Means over months with 95 % intervals."
    yield Section("Figure", figures=[grouped_bars("boosts", "Waits by the boost", caption, [panel])])
    yield from design.sections(found, (SYNC, WAIT))


def beside(found: Found) -> Beside:
    """Return the paper's numbers (none here) and its claims beside ours."""
    quote = "increase the priority of the job after it yields each time"
    words = ("IV-E", "A boost brings mates together sooner", quote, "the sync time is shorter with each boost")
    return Beside.of("IV-E", [], [Claim(*words, sooner)], found)


STUDY = Study(
    name="boosts",
    purpose="A boost after each yield: do mates start sooner?",
    text="Boosts of different size in months of Intrepid and Eureka, beside what section IV-E of Tang et al. says.",
    work=Design(
        words=WORDS,
        experiments=experiments,
        measure=measures,
        measures=(SYNC, WAIT),
        compared=compared,
        values=values,
        sections=sections,
        paper=beside,
    ).work,
    times=("seconds", "half a minute"),
    replications=(2, 8),
    days=(2.0, 10.0),
)
