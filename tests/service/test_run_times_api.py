"""Corrections of run times are checked before anything is done, and what is listed are sums."""

from collections import Counter

import pytest

from cosched.core.scheduling.run_times import Origin, Pair, Runs, RunTimes
from cosched.service.api.run_times_api import checked, checked_runs, listed
from cosched.service.wire.fields import FieldError
from cosched.v1.run_times_pb2 import CorrectRunTimesRequest, RunTimeSource


def corrections(*wanted):
    request = CorrectRunTimesRequest()
    for job_class, resource, seconds in wanted:
        correction = request.corrections.add(job_class=job_class, resource=resource)
        if seconds is not None:
            correction.stated.FromNanoseconds(round(seconds * 10**9))
    return request.corrections


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        ([("", "m", 1)], "corrections[0].job_class: must have 1 to 256 characters, has 0"),
        ([("c", "m\n", 1)], "corrections[0].resource: has a character that is not printable"),
        ([("c", "m", 0)], "corrections[0].stated: is not a whole number of seconds from 1 to 1000000000"),
        ([("c", "m", 1.5)], "corrections[0].stated: is not a whole number of seconds from 1 to 1000000000"),
        ([("c", "m", 5), ("c", "n", 10**9 + 1)], "corrections[1].stated: is not a whole number of seconds from 1 to"),
        ([("c", "m", 5), ("c", "m", None)], "corrections[1]: is about the same job class and resource as 0"),
        ([("c", str(number), 5) for number in range(10_001)], "corrections: are more than 10,000"),
    ],
)
def test_wrong_corrections_are_refused_and_named(wanted, why):
    with pytest.raises(FieldError) as refused:
        checked(corrections(*wanted))
    assert why in str(refused.value)


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"user": ""}, "runs[0].user: must have 1 to 256 characters, has 0"),
        ({"histogram": {}}, "runs[0].histogram: has no runs, or impossible ones"),
        ({"histogram": {5: -1}}, "runs[0].histogram: has no runs, or impossible ones"),
        ({"total": 10}, "runs[0].total: and squares are not those of the runs in the histogram"),
        ({"squares": "10"}, "runs[0].total: and squares are not those of the runs in the histogram"),
        ({"squares": "-1"}, "runs[0].squares: is not a decimal number"),
    ],
)
def test_runs_that_there_cannot_be_are_refused_and_named(changed, why):
    whole = {"job_class": "c", "resource": "m", "user": "ann", "queue": "low", "histogram": {5: 2, 9: 1}}
    request = CorrectRunTimesRequest()
    request.runs.add(**(whole | {"total": 19, "squares": "131"}))
    assert checked_runs(request.runs) == {Origin("c", "m", "ann", "low"): Runs(3, 19, 131, Counter({5: 2, 9: 1}))}
    del request.runs[:]
    request.runs.add(**(whole | {"total": 19, "squares": "131"} | changed))
    with pytest.raises(FieldError) as refused:
        checked_runs(request.runs)
    assert str(refused.value) == why


def test_a_correction_states_a_time_or_forgets_all():
    assert checked(corrections(("c", "m", 5), ("c", "n", None))) == {Pair("c", "m"): 5, Pair("c", "n"): None}


@pytest.mark.parametrize(
    ("by", "sums"),
    [
        (("job_class", "resource"), [("fft", "m1", "", "", 3), ("fft", "m2", "", "", 0), ("lu", "m1", "", "", 1)]),
        (("job_class",), [("fft", "", "", "", 3), ("lu", "", "", "", 1)]),
        (("resource",), [("", "m1", "", "", 4)]),
        (("owner", "queue"), [("", "", "ann", "high", 2), ("", "", "ann", "low", 1), ("", "", "bob", "low", 1)]),
    ],
)
def test_runs_are_summed_up_by_parts_of_their_origins(by, sums):
    """Figure 1: execution time history of machines, clusters, users by queue, and job classes."""
    times = RunTimes()
    runs = (("fft", "m1", "ann", "high"), ("fft", "m1", "ann", "low"), ("fft", "m1", "bob", "low"),
            ("lu", "m1", "ann", "high"))  # fmt: skip
    for seconds, origin in enumerate(runs, 10):
        times.learn(Origin(*origin), seconds)
    times.state(Pair("fft", "m2"), 60)
    told = listed(times, by)
    assert [(each.job_class, each.resource, each.user, each.queue, each.runs) for each in told] == sums
    assert [each.HasField("expected") for each in told] == [by == Pair._fields] * len(told)


def test_what_is_listed_says_from_what_it_is_expected():
    times = RunTimes({"m1": "A", "m2": "A"})
    for seconds in (10, 12):
        times.learn(Origin("fft", "m1", "ann", "high"), seconds)
    times.state(Pair("fft", "m3"), 60)
    first, alike, second = listed(times, Pair._fields)
    assert (alike.resource, alike.expected.seconds, alike.spread, alike.runs) == ("m2", 11, first.spread, 0)
    assert (first.expected.seconds, first.mean.seconds, first.median.seconds) == (11, 11, 10)
    assert (first.standard_deviation, first.spread) == (pytest.approx(2**0.5), pytest.approx(3**0.5))
    assert (second.stated.seconds, second.expected.seconds, second.HasField("mean")) == (60, 60, False)
    sources = [RunTimeSource.Name(each.source) for each in (first, alike, second)]
    assert sources == [f"RUN_TIME_SOURCE_{source}" for source in ("RUNS", "KIND", "STATED")]
