"""How good estimates have been lately is kept, and told as an interval."""

import pytest

from cosched.service.planning.estimates import KEEP, LEADS, OWN, TOGETHER, Estimates
from cosched.service.store import Store

NOW = 10_000_000
HOUR = 3600


@pytest.fixture
def store(tmp_path):
    store = Store.open(tmp_path / "state.db", "a")
    yield store
    store.close()


def told(estimates, kind=OWN, ahead=HOUR):
    accuracy = estimates.accuracy(kind, NOW, NOW + ahead)
    if accuracy is None:
        return None
    return accuracy.earliest.seconds, accuracy.latest.seconds, accuracy.within, accuracy.of


def settled(estimates, lates, kind=OWN, ahead=HOUR):
    for job, late in enumerate(lates, 1):
        estimates.note(str(job), kind, NOW, NOW + ahead)
        estimates.settle(str(job), kind, NOW + ahead + late)


def test_eight_of_ten(store):
    """ "10:40, within -3..+25 min for 8 of 10 lately" """
    estimates = Estimates(store)
    settled(estimates, [-7200, -180, 0, 0, 60, 120, 300, 600, 1500, 90_000])
    assert told(estimates) == (-180, 1500, 8, 10)


def test_few_are_none(store):
    estimates = Estimates(store)
    settled(estimates, [0] * 4)
    assert told(estimates) is None
    settled(estimates, [5] * 5)
    assert told(estimates) == (0, 5, 9, 9)


def test_kinds_and_distances_are_apart(store):
    estimates = Estimates(store)
    settled(estimates, [1] * 5)
    settled(estimates, [2] * 5, TOGETHER)
    settled(estimates, [3] * 5, ahead=LEADS[0])
    assert [told(estimates)[0], told(estimates, TOGETHER)[0], told(estimates, ahead=LEADS[0])[0]] == [1, 2, 3]
    assert told(estimates, ahead=LEADS[-1] + 1) is None


def test_the_first_estimate_counts(store):
    estimates = Estimates(store)
    for job in "12345":
        estimates.note(job, OWN, NOW, NOW + HOUR)
        estimates.note(job, OWN, NOW + 60, NOW + HOUR + 99)
        estimates.settle(job, OWN, NOW + HOUR)
    assert told(estimates)[:2] == (0, 0)


def test_all_outlive_a_restart(store):
    estimates = Estimates(store)
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
