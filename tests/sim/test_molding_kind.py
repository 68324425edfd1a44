"""What the kind of molding schedulers reads of submissions, and tells of jobs that wait."""

import pytest

from cosched.core.scheduling.molding.curves import Downey
from cosched.core.scheduling.molding.jobs import Moldable, Molded
from cosched.core.scheduling.molding.settings import MoldingSettings, Sizing
from cosched.core.scheduling.scheduler import ClusterJob
from cosched.schedulers.molding import MOLDING, MoldingKeys

SIMPLE, DOWNEY = MoldingKeys(), MoldingKeys(speedup="downey")
CURVE = {"moldable": "1", "downey_a": "4.5", "downey_sigma": "0.25"}


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({}, None),
        ({"moldable": "0"}, None),
        ({"moldable": "1"}, Moldable()),
        (CURVE, Moldable(Downey(4_500_000, 250_000))),
    ],
)
def test_a_submission_says_whether_the_job_is_moldable(said, expected):
    assert MOLDING.read(said) == expected
    keys = DOWNEY if "downey_a" in said else SIMPLE
    assert MOLDING.submitted(keys, said) == said


@pytest.mark.parametrize(
    ("keys", "said", "reason"),
    [
        (SIMPLE, CURVE, "downey_a: the speed-up of jobs here is that of the simple curve: leave it out"),
        (DOWNEY, {"moldable": "1"}, "downey_a: missing, which says"),
        (DOWNEY, CURVE | {"downey_a": "nan"}, "downey_a: 'nan' is not a number"),
        (SIMPLE, {"moldable": "yes"}, "moldable: 'yes' is neither 0 nor 1"),
    ],
)
def test_what_a_submission_cannot_say(keys, said, reason):
    with pytest.raises(ValueError, match=reason):
        MOLDING.submitted(keys, said)


def test_a_job_waits_for_its_least_size():
    def told(sizing: Sizing, **kept: int):
        scheduler = MOLDING.open(MoldingSettings(10, sizing))
        scheduler.submit(ClusterJob("1", 8, 100, 0, paired=False, columns=Moldable(), kept=kept))
        scheduler.free = 3
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
        ("0.5..2", 5, (3, 10)),
        ("0.5..1", 5, (3, 5)),
        ("1..2", 7, (7, 12)),
        ("0.5..0.5", 5, (3, 3)),
        ("0.7..1.3", 3, (3, 3)),
    ],
)
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
        ({"sizes": "0.5..1", "sizing": "none"}, "has no meaning with sizing=none"),
        ({"sizes": "0.5..1", "speedup": "downey"}, "has no meaning with speedup=downey"),
    ],
)
def test_sizes_that_are_refused(keys, reason):
    with pytest.raises(ValueError, match=reason):
        MoldingKeys(**keys)
