"""The product against the reference of molding.md, job for job, on random workloads."""

from dataclasses import astuple, replace
from fractions import Fraction
from random import Random

import pytest

from cosched.core.scheduling.forecast import Forecast
from cosched.core.scheduling.primitives.codes import CONSERVATIVE, EASY
from cosched.core.scheduling.scheduler import ClusterJob
from cosched_papers.molding.future import Expected, Future
from cosched_papers.molding.jobs import ANY, Shares
from cosched_papers.molding.kind import MOLDING
from cosched_papers.molding.settings import MoldingSettings, Sizing
from tests.papers.molding.molding_cases import Case, how, ran, setup
from tests.reference.molding import RefForeseen, RefMolded, RefMolding
from tests.sim.schedulers.together import opened, played
from tests.tiers import seeds

SIZINGS = ("scojo_p", "scojo", "cirne_berman", "none")
PER_SEED = 10
SHARES = (("0.5", "1"), ("1", "2"), ("0.5", "0.5"), ("0.7", "1.3"))


def random_jobs(random: Random) -> list[Case]:
    """Jobs of all classes, on a machine of 12 nodes; times are round, so that instants coincide."""
    downey, tables, late = random.random() < 0.3, random.random() < 0.3, random.random() < 0.4
    found = []
    for _ in range(random.randint(2, 14)):
        run = random.choice([random.randint(1, 30), 10 * random.randint(1, 40), 1200 * random.randint(1, 6)])
        asked = run * random.randint(1, 3) if late else 0
        moldable = random.random() < 0.8
        curve, table = None, None
        nodes = random.randint(1, 12)
        if tables and moldable and random.random() < 0.7:
            table = random_table(random, nodes)
        elif downey and moldable:
            curve = random.randint(nodes, 16) * 500_000 + 500_000 * nodes, random.choice([0, 250_000, 10**6, 1_700_000])
        submit = random.choice([0, 10, 30, 100, 600]) * random.randint(0, 6)
        found.append(Case(submit, nodes, run, moldable, curve, asked, table=table))
    return sorted(found, key=lambda job: job.submit)


def random_table(random: Random, nodes: int) -> dict[int, int]:
    """Run times on sizes around this one, some of them equal, and some less than in proportion; up to 15 nodes."""
    sizes = range(random.randint(1, nodes), random.randint(nodes, 15) + 1)
    return dict(zip(sizes, sorted((random.randint(1, 20) * 5 for _ in sizes), reverse=True), strict=True))


def random_future(random: Random, *, curves: bool) -> Future:
    """With curves, all classes have one of Downey's."""
    curve = (random.uniform(1, 20), random.choice([0.0, 0.25, 1.0, 1.7])) if curves else ()

    def one() -> Expected:
        arrivals = tuple(random.choice([0.0, 0.5, 2.25]) for _ in range(48))
        means = random.uniform(1, 9), random.uniform(1, 9000), random.choice([0.0, 0.8, 1.0])
        return Expected(arrivals, *means, *curve)

    return Future([one(), one(), one()])


def random_settings(random: Random, sizing: str, *, curves: bool = False) -> MoldingSettings:
    sizes = random.choice([ANY, ANY, *(Shares(Fraction(low), Fraction(high)) for low, high in SHARES)])
    made = MoldingSettings(12, Sizing(sizing), sizes=sizes)
    if sizing in ("none", "cirne_berman"):
        return replace(made, backfilling=random.choice([EASY, CONSERVATIVE]))
    if sizing == "scojo":
        return made
    future = random_future(random, curves=curves) if random.random() < 0.4 or curves else None
    ideal, delta, bad = random.choice([0.9, 0.7, 1.1]), random.choice([0.01, 0.05]), random.choice([1, 2, 2, 3])
    return replace(made, ideal_load=ideal, load_delta=delta, max_bad=bad, future=future)


def reference(jobs: list[Case], settings: MoldingSettings) -> RefMolding:
    known = []
    for number, job in enumerate(jobs, 1):
        a, sigma = (None, None) if job.downey is None else (Fraction(value, 10**6) for value in job.downey)
        known.append(
            RefMolded(number, *job[:3], job.requested or job.run, job.moldable, a, sigma, job.table, job.bounds)
        )
    classes = settings.future.classes if settings.future else ()
    future = [RefForeseen(*astuple(each)) for each in classes]
    rules = settings.ideal_load, settings.load_delta, settings.max_bad
    more = future, settings.sizes, settings.learns, settings.backfilling == CONSERVATIVE
    return RefMolding(settings.nodes, known, settings.sizing.value, *rules, *more)


@pytest.mark.parametrize("seed", seeds(1, 200))
@pytest.mark.parametrize("sizing", SIZINGS)
def test_the_product_agrees(sizing, seed):
    """In its loop for whole traces, and where jobs come and go."""
    for number in range(PER_SEED):
        random = Random(f"molding {sizing} {seed} {number}")
        jobs, settings = random_jobs(random), random_settings(random, sizing)
        expected, made = reference(jobs, settings).play(), setup(jobs, settings)
        for each in (made, replace(made, kind=opened(made.kind))):
            assert ran(played([each]).domains["A"]) == expected, (number, each.kind, jobs, settings)


@pytest.mark.parametrize("seed", seeds(1, 200))
def test_sizes_are_chosen_by_plans_though_many_wait_and_move_up(seed):
    """Cirne-Berman with conservative backfilling: jobs that have waited long overtake others, again and again."""
    random = Random(f"crowd {seed}")
    jobs = [
        Case(random.randint(0, 2000), random.randint(1, 12), random.choice([30, 59, 60, 90, 400, 3600, 4000]))
        for _ in range(20)
    ]
    jobs.sort(key=lambda job: job.submit)
    settings = MoldingSettings(12, Sizing.CIRNE_BERMAN, backfilling=CONSERVATIVE)
    assert ends(jobs, settings) == reference(jobs, settings).play()


@pytest.mark.parametrize("seed", seeds(1, 200))
def test_what_is_foreseen_may_have_curves_of_downeys(seed):
    for number in range(PER_SEED):
        random = Random(f"curves {seed} {number}")
        jobs, settings = random_jobs(random), random_settings(random, "scojo_p", curves=True)
        assert ends(jobs, settings) == reference(jobs, settings).play(), (number, jobs, settings)


def ends(jobs: list[Case], settings: MoldingSettings) -> list[tuple[int, int, int]]:
    """Sizes, starts and ends, by the product."""
    return ran(played([setup(jobs, settings)]).domains["A"])


@pytest.mark.parametrize("seed", seeds(1, 100))
def test_a_domain_learns_from_its_own_past(seed):
    """Of the last 28 whole days: not of the first day, nor of this one; curves of Downey's, too."""
    different = 0
    for number in range(PER_SEED):
        random = Random(f"past {seed} {number}")
        last = random.choice([2, 5, 40])
        jobs = [
            job._replace(submit=job.submit % 3600 + 86_400 * random.randint(0, last) + random.choice([0, 43_000]))
            for _ in range(min(3 * last, 8))
            for job in random_jobs(random)
        ]
        jobs.sort(key=lambda job: job.submit)
        settings = replace(random_settings(random, "scojo_p"), future=None, learns=True)
        had = ends(jobs, settings)
        assert had == reference(jobs, settings).play(), (number, jobs, settings)
        different += had != reference(jobs, replace(settings, learns=False)).play()
    assert different > PER_SEED / 3


def bounded(job: Case, random: Random) -> Case:
    """The same job with bounds, if it is moldable: its best size must be allowed."""
    least, most = random.randint((job.nodes + 1) // 2, job.nodes), random.randint(job.nodes, min(2 * job.nodes, 12))
    chosen = random.choice([(least, most), (least, 0), (0, most)])
    return job._replace(bounds=chosen) if job.moldable and not job.downey and not job.table else job


@pytest.mark.parametrize("seed", seeds(1, 100))
@pytest.mark.parametrize("sizing", SIZINGS[:3])
def test_jobs_that_bound_their_sizes_and_what_is_foreseen_of_their_starts(sizing, seed):
    """Starts are foreseen by playing a copy (Forecast): all come at once, and run for as long as they ask for."""
    for number in range(PER_SEED):
        random = Random(f"bounded {sizing} {seed} {number}")
        jobs = [bounded(job, random)._replace(submit=0, requested=0) for job in random_jobs(random)]
        settings = replace(random_settings(random, sizing), sizes=ANY)
        scheduler = MOLDING.open(settings)
        for name, job in enumerate(jobs, 1):
            asked = ClusterJob(str(name), job.nodes, job.run, 0, paired=False, columns=how(job))
            scheduler.check(asked)
            scheduler.submit(asked)
        before = [scheduler.job(job) for job in scheduler.jobs]
        foreseen = sorted((int(job), nodes, start) for job, start, nodes in Forecast(scheduler, 0).starts())
        played_out = reference(jobs, settings).play()
        assert [each[1:] for each in foreseen] == [(nodes, start) for nodes, start, _ in played_out], (jobs, settings)
        assert [scheduler.job(job) for job in scheduler.jobs] == before
