"""How good estimates have been is kept, and told as an interval."""

import pytest

from cosched.client.explanations import Estimate, how_good
from cosched.conformance.instructions import instructions
from cosched.service.planning.estimates import KEEP, LEADS, NEAREST, OWN, TOGETHER, Estimates, cut
from cosched.v1 import explain_pb2

NOW = 10_000_000
HOUR = 3600


@pytest.fixture
def estimates(store):
    return Estimates(store)


def told(estimates, kind=OWN, ahead=HOUR):
    accuracy = estimates.accuracy(kind, NOW, NOW + ahead)
    if accuracy is None:
        return None
    return accuracy.earliest.seconds, accuracy.latest.seconds, accuracy.within, accuracy.of


def settled(estimates, lates, kind=OWN, ahead=HOUR):
    for job, late in enumerate(lates, 1):
        estimates.note(str(job), kind, NOW, NOW + ahead)
        estimates.settle(str(job), kind, NOW + ahead + late)


def test_a_start_costs_the_same_however_many_are_expected(estimates):
    costs = []
    for first in (1, 1000):
        for job in range(first, first + 100):
            estimates.note(str(job), OWN, NOW, NOW + HOUR)
            estimates.note(str(job), TOGETHER, NOW, NOW + HOUR)
        jobs = str(first), str(first + 1)
        costs.append(
            instructions(lambda jobs=jobs: (estimates.settle(jobs[0], OWN, NOW + HOUR), estimates.drop(jobs[1])))
        )
        assert jobs[0] in estimates.unsettled(), "with its mate it has not started"
        assert jobs[1] not in estimates.unsettled()
    assert costs[1] <= 1.1 * costs[0]


def test_eight_of_ten(estimates):
    """Without the one that was most early, and the one that was most late."""
    settled(estimates, [-7200, -180, 0, 0, 60, 120, 300, 600, 1500, 90_000])
    assert told(estimates) == (-180, 1500, 8, 10)


def test_few_are_none(estimates):
    settled(estimates, [0] * 4)
    assert told(estimates) is None
    settled(estimates, [5] * 5)
    assert told(estimates) == (0, 5, 9, 9)


def test_kinds_and_distances_are_apart(estimates):
    settled(estimates, [1] * 5)
    settled(estimates, [2] * 5, TOGETHER)
    settled(estimates, [3] * 5, ahead=LEADS[0])
    assert [told(estimates)[0], told(estimates, TOGETHER)[0], told(estimates, ahead=LEADS[0])[0]] == [1, 2, 3]
    assert told(estimates, ahead=LEADS[-1] + 1) is None


def test_a_miss_is_a_share_of_the_time_ahead(estimates):
    """Starts expected in 20 hours came after 2: a start expected in 9 hours is not told to have been yesterday."""
    settled(estimates, [-18 * HOUR] * 5, ahead=20 * HOUR)
    estimate = explain_pb2.Estimate(source=explain_pb2.ESTIMATE_SOURCE_PLAN)
    estimate.at.seconds, estimate.made_at.seconds = NOW + 9 * HOUR, NOW
    estimate.accuracy.CopyFrom(estimates.accuracy(OWN, NOW, NOW + 9 * HOUR))
    assert estimate.accuracy.earliest.seconds == -8.1 * HOUR
    assert how_good(Estimate(estimate)) == "5 of the last 5 such waits were 0.1 to 0.1 times as long"
    cut(estimate, NOW + HOUR)
    assert estimate.at.seconds + estimate.accuracy.earliest.seconds == NOW + HOUR
    cut(estimate, NOW + 10 * HOUR)
    assert (estimate.at.seconds, estimate.accuracy.earliest.seconds) == (NOW + 10 * HOUR, 0)


def test_a_start_at_once_has_no_share(estimates):
    settled(estimates, [50] * 5, ahead=NEAREST - 1)
    settled(estimates, [60] * 4, ahead=NEAREST)
    assert told(estimates, ahead=NEAREST) is None
    settled(estimates, [60] * 5, ahead=NEAREST)
    assert told(estimates, ahead=NEAREST) == (60, 60, 9, 9)
    assert told(estimates, ahead=NEAREST - 1) is None


def test_the_first_estimate_counts(estimates):
    for job in "12345":
        estimates.note(job, OWN, NOW, NOW + HOUR)
        estimates.note(job, OWN, NOW + 60, NOW + HOUR + 99)
        estimates.settle(job, OWN, NOW + HOUR)
    assert told(estimates)[:2] == (0, 0)


def test_all_outlive_a_restart(estimates, store):
    settled(estimates, range(10))
    for job, kind in (("11", OWN), ("12", OWN), ("12", TOGETHER)):
        estimates.note(job, kind, NOW, NOW + HOUR)
    estimates.drop("11")
    estimates.write(NOW)
    again = Estimates(store)
    assert told(again) == told(estimates)
    assert again.unsettled() == {"12"}
    again.settle("12", OWN, NOW + HOUR + 50)
    assert again.unsettled() == {"12"}, "its pair has not started"
    again.write(NOW)
    assert told(Estimates(store))[-1] == 11
    again.note("13", OWN, NOW + KEEP + 1, NOW + KEEP + HOUR)
    again.write(NOW + KEEP + 1)
    assert [record.job for record in store.estimates()] == [13]
