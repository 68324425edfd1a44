"""Run times that are learned, and what is expected by them (Collins and George 2001, section 3)."""

import statistics
from math import ceil, isclose

from hypothesis import given
from hypothesis import strategies as st

from cosched.core.scheduling.run_times import Origin, Pair, Runs, RunTimes, Source
from tests.reference.run_times import Site

KINDS = {"a1": "A", "a2": "A", "a3": "A", "b1": "B"}
ALL = (*KINDS, "c1", "c2")  # the last two have no kind
GIVEN = {("lu", "a1"): 30, ("lu", "a2"): 30, ("lu", "a3"): 40, ("lu", "b1"): 30}
CLASSES = st.sampled_from(["fft", "lu"])
RESOURCES = st.sampled_from(ALL)
SECONDS = st.integers(0, 300) | st.integers(0, 10**9)
HAPPENED = st.lists(
    st.tuples(st.just("ran"), CLASSES, RESOURCES, SECONDS)
    | st.tuples(st.just("state"), CLASSES, RESOURCES, st.integers(1, 1000))
    | st.tuples(st.just("forget"), CLASSES, RESOURCES)
    | st.tuples(st.just("restart"))
)
FFT = Pair("fft", "a1")


def restarted(times: RunTimes, kept: tuple[dict, dict]) -> RunTimes:
    for known, changed in zip(kept, times.take_changed(), strict=True):
        known |= changed
    fresh = RunTimes(KINDS, {Pair(*pair): seconds for pair, seconds in GIVEN.items()})
    fresh.recall(*([(key, value) for key, value in known.items() if value is not None] for known in kept))
    return fresh


@given(happened=HAPPENED, owners=st.lists(st.sampled_from(["ann", "bob"]), min_size=1))
def test_it_expects_what_all_that_happened_says(happened, owners):
    kept = ({}, {})
    times, site = restarted(RunTimes(), kept), Site(KINDS, GIVEN)
    for number, (what, *about) in enumerate(happened):
        if what == "restart":
            times = restarted(times, kept)
            continue
        getattr(site, what)(*about)
        if what == "ran":
            *pair, seconds = about
            times.learn(Origin(*pair, owners[number % len(owners)], "low"), seconds)
        else:
            getattr(times, what)(Pair(*about[:2]), *about[2:])
        for job_class in ("fft", "lu"):
            for resource in ALL:
                told = times.predict(Pair(job_class, resource), 77)
                *same, spread = site.expect(job_class, resource, 77)
                assert [told.seconds, told.source.value, told.runs] == same
                assert told.spread == spread or isclose(told.spread, spread, rel_tol=1e-9, abs_tol=1e-9)


@given(runs=st.lists(SECONDS, min_size=1), parts=st.lists(st.integers(0, 3)), share=st.floats(0, 1))
def test_sums_of_parts_are_sums_of_all_and_quantiles_are_a_64th_too_low_at_most(runs, parts, share):
    sums = [Runs() for _ in range(4)]
    for number, seconds in enumerate(runs):
        sums[parts[number % len(parts)] if parts else 0].add(seconds)
    whole, alone = Runs(), Runs()
    for part in sums:
        whole.include(part)
    for seconds in sorted(runs):
        alone.add(seconds)
    assert whole == alone
    exact = sorted(runs)[max(1, ceil(share * len(runs))) - 1]
    assert whole.quantile(share) <= exact
    assert (exact - whole.quantile(share)) * 64 <= exact
    assert exact >= 128 or whole.quantile(share) == exact
    if len(runs) > 1:
        assert isclose(whole.variance, statistics.variance(runs), rel_tol=1e-9, abs_tol=1e-9)


def learned(**runs: list[int]) -> RunTimes:
    times = RunTimes(KINDS)
    for resource, all_seconds in runs.items():
        for seconds in all_seconds:
            times.learn(Origin("fft", resource, "ann", "high"), seconds)
    return times


def test_a_correction_stands_until_the_next_run_and_ends_what_was_learned():
    times = learned(a1=[100, 100, 100])
    times.state(FFT, 20)
    assert times.predict(FFT, 60) == (20, Source.STATED, 0, None)
    assert times.predict(Pair("fft", "a2"), 60).source is Source.REQUESTED
    times.learn(Origin("fft", "a1", "ann", "high"), 24)
    assert times.predict(FFT, 60).seconds == 24
    assert times.stated(FFT) == 20
    times.forget(FFT)
    assert times.pairs() == []


def test_what_the_file_of_the_site_states_counts_until_the_operators_state_otherwise():
    times = RunTimes(KINDS, {FFT: 30})
    assert (times.pairs(), times.predict(FFT, 60)) == ([FFT], (30, Source.STATED, 0, None))
    times.state(FFT, 20)
    assert times.predict(FFT, 60).seconds == 20
    times.forget(FFT)
    assert times.predict(FFT, 60).seconds == 30
    assert times.take_changed() == ({}, {FFT: None})


def test_runs_on_a_resource_of_the_kind_say_more_than_the_file_where_it_states_the_same_time():
    """ "a class should indicate that all executables that typically run on one member of a class can be run on all" """
    given = {("fft", "a1"): 30, ("fft", "a2"): 30, ("fft", "a3"): 40}
    times = RunTimes(KINDS, {Pair(*pair): seconds for pair, seconds in given.items()})
    times.learn(Origin("fft", "a1", "ann", "high"), 20)
    assert times.predict(Pair("fft", "a2"), 60) == (20, Source.KIND, 1, None)
    assert times.predict(Pair("fft", "a3"), 60) == (40, Source.STATED, 0, None)
    times.state(Pair("fft", "a2"), 25)
    assert times.predict(Pair("fft", "a2"), 60) == (25, Source.STATED, 0, None)
    assert times.pairs() == [Pair(*pair) for pair in given]


def test_runs_that_were_learned_elsewhere_take_the_place_of_those_of_their_origin():
    times, origin = learned(a1=[3, 5], b1=[4]), Origin("fft", "a1", "ann", "high")
    there = Runs()
    there.add(60)
    for _ in range(2):  # the second time changes nothing
        times.replace(origin, there)
        assert (times.predict(FFT, 1).seconds, times.runs(FFT).count) == (60, 1)
        assert times.predict(Pair("fft", "a2"), 1) == (60, Source.KIND, 1, None)
        assert times.predict(Pair("fft", "b1"), 1).seconds == 4
        assert times.take_changed().runs[origin] == there


def test_no_run_is_expected_to_take_no_time():
    assert learned(a1=[0, 0]).predict(FFT, 60).seconds == 1
    assert RunTimes().predict(FFT, 0).seconds == 1


def test_only_what_has_changed_is_told():
    times = learned(a1=[3], a2=[5])
    assert {origin.resource for origin in times.take_changed().runs} == {"a1", "a2"}
    times.forget(FFT)
    assert times.take_changed() == ({Origin("fft", "a1", "ann", "high"): None}, {FFT: None})
    assert times.take_changed() == ({}, {})
