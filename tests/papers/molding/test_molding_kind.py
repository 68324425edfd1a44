"""What the kind of molding schedulers reads of submissions, and tells of jobs that wait."""

import json

import pytest

from cosched.core.scheduling.scheduler import ClusterJob
from cosched_papers.molding.curves import Downey, Measured
from cosched_papers.molding.future import Expected
from cosched_papers.molding.jobs import Moldable, Molded
from cosched_papers.molding.kind import MOLDING, MoldingKeys
from cosched_papers.molding.settings import MoldingSettings, Sizing

SIMPLE, DOWNEY = MoldingKeys(), MoldingKeys(speedup="downey")
CURVE = {"moldable": "1", "downey_a": "4.5", "downey_sigma": "0.25"}


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({}, None),
        ({"moldable": "0"}, None),
        ({"moldable": "1"}, Moldable()),
        ({"min_nodes": "4", "max_nodes": "12"}, Moldable(None, 4, 12)),
        (CURVE, Moldable(Downey(4_500_000, 250_000))),
        ({"run_times": "3:80 2:100 4:80", "max_nodes": "3"}, Moldable(Measured(2, (100, 80, 80)), 0, 3)),
    ],
)
def test_a_submission_says_whether_the_job_is_moldable(said, expected):
    assert MOLDING.read(said) == expected
    assert MOLDING.submitted(DOWNEY if "downey_a" in said else SIMPLE, said) == said


@pytest.mark.parametrize(
    ("keys", "said", "reason"),
    [
        (SIMPLE, CURVE, "downey_a: jobs here have the simple speed-up curve, which does not use it: remove it"),
        (DOWNEY, {"moldable": "1"}, "downey_a: missing, which says"),
        (DOWNEY, CURVE | {"downey_a": "nan"}, "downey_a: 'nan' is not a number"),
        (SIMPLE, {"moldable": "yes"}, "moldable: 'yes' is neither 0 nor 1"),
        (SIMPLE, {"max_nodes": "0"}, "max_nodes: '0' is below 1"),
        (SIMPLE, {"max_nodes": "9", "moldable": "0"}, "max_nodes: has no meaning, as the job is not moldable"),
        (SIMPLE, {"run_times": "8:90", "moldable": "0"}, "run_times: has no meaning, as the job is not moldable"),
        (DOWNEY, CURVE | {"run_times": "8:90"}, "run_times: the job has a curve of Downey's, too: leave one of them"),
        (SIMPLE, {"run_times": " "}, "run_times: is empty: give NODES:SECONDS of each size, or leave it out"),
    ],
)
def test_what_a_submission_cannot_say(keys, said, reason):
    with pytest.raises(ValueError, match=reason):
        MOLDING.submitted(keys, said)


def test_a_job_waits_for_its_least_size():
    def told(sizing: Sizing, **kept: int):
        scheduler = MOLDING.open(MoldingSettings(10, sizing))
        scheduler.submit(ClusterJob("1", 8, 100, 0, paired=False, columns=Moldable(), kept=kept))
        scheduler._table.free = 3
        return MOLDING.why(scheduler, scheduler.job("1"), 0, "").detail

    assert told(Sizing.SCOJO_P) == {"required": 4, "available": 3}
    assert told(Sizing.SCOJO_P, guaranteed=6)["required"] == 6
    assert told(Sizing.CIRNE_BERMAN, chosen=9)["required"] == 9
    assert told(Sizing.NONE)["required"] == 8


def test_what_was_counted_outlives_a_restart():
    one, other = (MOLDING.open(MoldingSettings(10, Sizing.SCOJO_P)) for _ in range(2))
    one.submit(ClusterJob("1", 4, 100, 0, paired=False, columns=Moldable()))
    one.start(one.next(0).job, 0)
    other.recall(one.kept_of_domain())
    assert other.counts() == {"shrunk": 0, "expanded": 1}


@pytest.mark.parametrize(
    ("sizes", "asked", "bounds"),
    [
        ("0.5..2", 5, (3, 10)), ("0.5..1", 5, (3, 5)), ("1..2", 7, (7, 12)), ("0.5..0.5", 5, (3, 3)),
        ("0.7..1.3", 3, (3, 3)),
    ],
)  # fmt: skip
def test_sizes_are_shares_of_what_jobs_ask_for(sizes, asked, bounds):
    """N_min is rounded up and N_max down, but it is at least N_min; the machine has 12 nodes."""
    shares = MoldingKeys(sizes=sizes).sizes
    job = Molded.of(ClusterJob("1", asked, 100, 0, paired=False, columns=Moldable()), 12, shares)
    assert (job.least, job.most) == bounds


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ({"sizes": "1"}, "two shares expected, such as 0.5..1, not '1'"),
        ({"sizes": "0.4..1"}, "the first must be from 0.5 to 1"),
        ({"sizes": "1..nan"}, "two shares expected|the second from the first to 2"),
        ({"sizes": "0.8..0.7"}, "the second from the first to 2"),
        ({"sizes": "0.5..1", "sizing": "none"}, "sizing=none does not use it"),
        ({"sizes": "0.5..1", "speedup": "downey"}, "speedup=downey does not use it"),
        ({"prediction": "trained"}, "trained needs a generated trace, in a simulation: else give past, or a"),
        ({"backfill": "conservative"}, "conservative has meaning with sizing=cirne_berman and sizing=none only"),
        ({"backfill": "conservative", "sizing": "scojo"}, "only: sizing=scojo reserves one job"),
        ({"backfill": "none", "sizing": "none"}, "a molding scheduler always backfills: give easy or conservative"),
    ],
)
def test_keys_that_are_refused(keys, reason):
    with pytest.raises(ValueError, match=reason):
        MoldingKeys(**keys)


def test_what_was_learned_outlives_restarts_and_no_job_counts_twice():
    """Two jobs on the first day, of which nothing is learned; three on the second, and one on the third."""
    settings, day = MoldingSettings(10, learns=True), 86_400
    lives = [MOLDING.open(settings)]
    for number, submitted in enumerate((5, 50_000, day, day + 1799, day + 43_200, 2 * day)):
        job = ClusterJob(str(number), 4, 100, submitted, paired=False, columns=Moldable())
        lives[-1].submit(job)
        assert list(lives[-1].take_changed()) == [job.id]
        lives.append(MOLDING.open(settings))
        lives[-1].recall(json.loads(json.dumps(lives[-2].kept_of_domain())))
        for known in lives[-2].jobs:
            lives[-1].submit(lives[-2].job(known))
    learned = [life.turns.past.future(2 * day + 10) for life in lives[-2:]]
    assert learned[0] == learned[1]
    short, medium, long = learned[0].classes
    assert medium == Expected((2.0,) + (0.0,) * 23 + (1.0,) + (0.0,) * 23, 4.0, 100.0, 1.0)
    assert sum(short.arrivals) == sum(long.arrivals) == 0
    assert lives[-1].turns.past.future(day + 10) is None, "no day is whole"
    assert sum(lives[-1].turns.past.future(30 * day).classes[1].arrivals) == 1 / 28, "the second day is 28 days ago"


def test_a_job_with_nodes_tells_why_it_has_so_many():
    """Case a of the page; then a target of 6 nodes: on the 4 that are free the job ends at 163, on 6 at 60 + 124."""
    free = MOLDING.open(MoldingSettings(10))
    free.submit(ClusterJob("1", 4, 100, 0, paired=False, columns=Moldable()))
    free.next(0)
    assert MOLDING.sized(free.job("1")) == "sizes are 2.25 times the best ones now, within the bounds of each job"
    busy = MOLDING.open(MoldingSettings(10))
    busy.submit(ClusterJob("1", 6, 60, 0, paired=False))
    busy.start(busy.next(0).job, 0)
    assert not MOLDING.sized(busy.job("1")), "it is rigid"
    busy.submit(ClusterJob("2", 8, 100, 0, paired=True, columns=Moldable()))
    assert busy.next(0).allocation.nodes == 4
    assert MOLDING.sized(busy.job("2")) == "these are all that were free, and on more it would end later"
    busy.pass_over("2", 0, 1.0)
    assert not MOLDING.sized(busy.job("2")), "it waits"


def test_the_size_that_a_job_has_chosen_is_why():
    chosen = MOLDING.open(MoldingSettings(10, Sizing.CIRNE_BERMAN))
    chosen.submit(ClusterJob("1", 4, 100, 0, paired=False, columns=Moldable()))
    chosen.start(chosen.next(0).job, 0)
    kept = chosen.job("1")
    other = MOLDING.open(MoldingSettings(10, Sizing.CIRNE_BERMAN))
    other.submit(kept)
    assert MOLDING.sized(other.job("1")) == "chosen at its submission, as it would end first on these"
