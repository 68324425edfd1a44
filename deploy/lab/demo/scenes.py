"""The scenes. Each plays, and returns the pairs that have run and what did not happen as promised."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from cosched.client import Job
from deploy.lab.demo.stage import Ran, Stage

NODES = 10  # nodes of each cluster, as in the paper's Figure 2
LARGE = 6  # nodes of the figure's jobs
RELEASE_INTERVAL = 6  # seconds; the paper: 20 minutes
TOGETHER = 1.0  # seconds between mates at most: on a busy host starts are slow


@dataclass
class Outcome:
    """The outcome of a scene."""

    pairs: list[Ran]
    missing: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.missing += [f"pair {pair.name} did not start together" for pair in self.pairs if not _together(pair)]
        self.missing += [f"{job} is {job.state}" for job in self._jobs() if job.state != "completed"]

    def _jobs(self) -> Iterator[Job]:
        return (job for pair in self.pairs for job in pair.jobs)


def _together(pair: Ran) -> bool:
    """Whether the jobs started together, by their own notes and by cosched's record."""
    gaps = [mate.gap for job in pair.jobs for mate in job.mates if mate.gap is not None]
    return pair.skew < TOGETHER and all(abs(gap.total_seconds()) < TOGETHER for gap in gaps)


def held(stage: Stage) -> Outcome:
    """Scheme hold: the job that is ready first keeps its nodes and waits."""
    here, there = stage.here, stage.there
    stage.screen.title("1. A pair held")
    end = stage.busy(there, NODES)
    stage.submit(here, "p1", LARGE)
    stage.submit(there, "p1", LARGE)
    stage.until_held(here, "p1")
    stage.screen.say(f"""{there.name} is full. {here.name} has room for its job of pair p1, and holds the nodes for the
        mate: Slurm shows the job as CF (configuring), cosched as HO (holding).""")
    stage.screen.queues(stage.places)
    end()
    ran = stage.until_run("p1")
    _tell(stage, ran, f"The job on {there.name} ends, the mate gets its nodes, and both start:")
    return Outcome([ran], [] if ran.jobs[0].holds.holds else ["no job of p1 held"])


def yielded(stage: Stage) -> Outcome:
    """Scheme yield: the job that is ready first lets others go first."""
    here, there = stage.here, stage.there
    stage.screen.title("2. A pair yielded")
    end = stage.busy(here, NODES)
    stage.submit(there, "p2", LARGE)
    stage.submit(here, "p2", LARGE)
    stage.until_job(there, "p2", lambda job: job.holds.yields > 0 and job.state == "queued", "to yield")
    end_other = stage.busy(there, LARGE, "other")
    stage.screen.say(f"""Now {here.name} is full. {there.name} had room for its job of pair p2, but its scheme is to
        yield: the job is queued again, and another job, without a mate, has taken its nodes.""")
    stage.screen.queues(stage.places)
    end_other()
    end()
    ran = stage.until_run("p2")
    _tell(stage, ran, f"Now there is room on both. {here.name} asks {there.name} to start the mate:")
    return Outcome([ran], [] if ran.jobs[1].holds.yields else ["no job of p2 yielded"])


def deadlock(stage: Stage) -> Outcome:
    """Figure 2 of Tang et al. (2011): two pairs block each other until a release timer ends the deadlock."""
    here, there = stage.here, stage.there
    stage.screen.title("3. The deadlock of Figure 2 (Tang et al. 2011), and how it is broken")
    stage.restart(("hold", "hold"))
    stage.submit(here, "p3", LARGE, "a1")
    stage.submit(there, "p4", LARGE, "b2")
    stage.until_held(here, "p3")
    stage.until_held(there, "p4")
    stage.submit(here, "p4", LARGE, "a2")
    stage.submit(there, "p3", LARGE, "b1")
    stage.until(lambda: _states(stage) == ["holding", "queued", "queued", "holding"], "the deadlock")
    stage.screen.say(f"""Both hold now. a1 on {here.name} has {LARGE} of {NODES} nodes and waits for b1; b2 on
        {there.name} has as many and waits for a2. Neither b1 nor a2 can get its {LARGE} nodes. Without the release
        timer nothing would ever start: {RELEASE_INTERVAL} s here, 20 minutes by default.""")
    stage.screen.queues(stage.places)
    pairs = sorted((stage.until_run(pair) for pair in ("p3", "p4")), key=lambda ran: ran.began)
    _tell(stage, pairs[0], "A hold is released, and the jobs that were stuck behind it start:")
    _tell(stage, pairs[1], "Then the others start:")
    released = sum(stage.releases(domain, pair.name) for domain in stage.places for pair in pairs)
    return Outcome(pairs, [] if released else ["no hold was released"])


def _states(stage: Stage) -> list[str]:
    jobs = (stage.job(domain, pair) for pair in ("p3", "p4") for domain in stage.places)
    return [job.state if job is not None else "unknown" for job in jobs]


def _tell(stage: Stage, ran: Ran, what: str) -> None:
    stage.screen.say(f"{what} pair {ran.name}, its first instructions {ran.skew * 1000:.1f} ms apart.")
