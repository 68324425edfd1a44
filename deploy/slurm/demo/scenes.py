"""The scenes: each plays, and returns the pairs that have run and what of its promise did not happen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from cosched.client import Job
from deploy.slurm.demo.stage import Ran, Stage

NODES = 10  # of each cluster, as in the paper's Figure 2
LARGE = 6  # of its jobs
RELEASE_INTERVAL = 6  # seconds; the paper: 20 minutes
TOGETHER = 0.1  # seconds


@dataclass
class Outcome:
    """What has come of a scene."""

    pairs: list[Ran]
    missing: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.missing += [f"pair {pair.name} did not start together" for pair in self.pairs if pair.skew > TOGETHER]
        self.missing += [f"{job} is {job.state}" for job in self._jobs() if job.state != "completed"]

    def _jobs(self) -> Iterator[Job]:
        return (job for pair in self.pairs for job in pair.jobs)


def held(stage: Stage) -> Outcome:
    """Scheme hold: the job that is ready first waits on its nodes."""
    here, there = stage.here, stage.there
    stage.screen.title("1. A pair held")
    end = stage.busy(there, NODES)
    stage.submit(here, "p1", LARGE)
    stage.submit(there, "p1", LARGE)
    stage.until_held(here, "p1")
    stage.screen.say(f"""{there.name} is full. {here.name} has room for its job of pair p1, and holds the nodes for the
        mate: Slurm shows the job as CF (configuring), cosched as HO (holding).""")
    stage.screen.queues(stage.lab)
    end()
    ran = stage.until_run("p1")
    _tell(stage, ran, f"The job on {there.name} ends, the mate gets its nodes, and both jobs of p1 start:")
    return Outcome([ran], [] if ran.jobs[0].holds.holds else ["no job of p1 held"])


def yielded(stage: Stage) -> Outcome:
    """Scheme yield: the job that is ready first gives its turn up."""
    here, there = stage.here, stage.there
    stage.screen.title("2. A pair yielded")
    end = stage.busy(here, NODES)
    stage.submit(there, "p2", LARGE)
    stage.submit(here, "p2", LARGE)
    stage.until_job(there, "p2", lambda job: job.holds.yields > 0 and job.state == "queued", "to yield")
    end_other = stage.busy(there, LARGE, "other")
    stage.screen.say(f"""Now {here.name} is full. {there.name} had room for its job of pair p2, but its scheme is to
        yield: the job is queued again (PD), and another job, without a mate, has taken its nodes.""")
    stage.screen.queues(stage.lab)
    end_other()
    end()
    ran = stage.until_run("p2")
    _tell(stage, ran, f"Room on both; {here.name} is ready and asks {there.name} to start the mate:")
    return Outcome([ran], [] if ran.jobs[1].holds.yields else ["no job of p2 yielded"])


def deadlock(stage: Stage) -> Outcome:
    """Figure 2 of Tang et al. (2011): two pairs hold each other up until a release timer ends it."""
    here, there = stage.here, stage.there
    stage.screen.title("3. The deadlock of Figure 2 (Tang et al. 2011), and how it is broken")
    stage.lab.restart(("hold", "hold"))
    for domain, pair in ((here, "a"), (there, "b")):
        stage.submit(domain, pair, LARGE, f"{pair}-1st")
        stage.until_held(domain, pair)
    for domain, pair in ((here, "b"), (there, "a")):
        stage.submit(domain, pair, LARGE, f"{pair}-2nd")
    stage.until(lambda: _states(stage) == ["holding", "queued", "queued", "holding"], "the deadlock")
    stage.screen.say(f"""Both hold now. Pairs a and b came in opposite orders: {here.name} holds {LARGE} of {NODES}
        nodes for a, whose mate waits on {there.name}, which holds as many for b, whose mate waits on {here.name}.
        No job can start, ever, but for the release timer: {RELEASE_INTERVAL} s here, 20 minutes by default.""")
    stage.screen.queues(stage.lab)
    pairs = [stage.until_run(pair) for pair in "ab"]
    _tell(stage, min(pairs, key=lambda ran: ran.began), "A hold is released, the other pair gets the nodes:")
    _tell(stage, max(pairs, key=lambda ran: ran.began), "And then:")
    released = sum(stage.releases(domain, pair) for domain in stage.lab for pair in "ab")
    return Outcome(pairs, [] if released else ["no hold was released"])


def _states(stage: Stage) -> list[str]:
    jobs = (stage.job(domain, pair) for pair in "ab" for domain in stage.lab)
    return [job.state if job is not None else "unknown" for job in jobs]


def _tell(stage: Stage, ran: Ran, what: str) -> None:
    stage.screen.say(f"{what} the first instructions of the jobs of {ran.name} were {ran.skew * 1000:.1f} ms apart.")
