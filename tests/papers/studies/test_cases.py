"""Which replays the study consists of."""

import itertools
import re
from collections import Counter

import pytest

from cosched_papers.studies.tang2011.cases import BY_LOAD, BY_SHARE, LAST, LONG_NO_TIMER, cases
from cosched_papers.studies.tang2011.sensitivity import sensitivities
from cosched_papers.studies.tang2011.setup import BASE, LOADS, MACHINES, SCHEMES, SHARES, GeneratedMonths, Plan
from cosched_sim.configuration import replay_config
from cosched_sim.studies.cases import LABELS

QUICK = Plan(2, 7, True, 30, GeneratedMonths())
WHOLE = Plan(1, 7, False, 30, GeneratedMonths())


@pytest.fixture(scope="module", params=[QUICK, WHOLE], ids=["quick", "whole"])
def plan(request: pytest.FixtureRequest) -> Plan:
    return request.param


def test_every_case_is_a_replay(plan):
    for case in cases(plan):
        config = replay_config("case", dict(case.settings))
        assert [domain.name for domain in config.domains] == list(MACHINES)
        assert tuple(case.labels) == LABELS
        assert {domain.release_jitter for domain in config.domains} == {0}


def test_both_experiments_have_all_combinations(plan):
    there = Counter(tuple(case.labels[name] for name in LABELS[:3]) for case in cases(plan))
    for experiment, points in ((BY_LOAD, LOADS), (BY_SHARE, SHARES)):
        for point in points:
            for schemes in (BASE, *SCHEMES):
                assert there[experiment, point, schemes] == plan.replications


def test_a_place_is_run_once(plan):
    assert max(Counter(tuple(case.labels.values()) for case in cases(plan)).values()) == 1


def test_replications_differ_by_their_seed_alone():
    without_script = [case for case in cases(QUICK) if "script" not in case.settings]
    first, second = (
        [case.settings for case in without_script if case.labels["replication"] == number] for number in (1, 2)
    )
    assert {settings["seed"] for settings in first} == {7}
    assert [{**settings, "seed": 8} for settings in first] == second


def test_the_schemes_are_those_of_the_letters():
    for case in cases(QUICK):
        modes = [domain["scheme"] for domain in case.settings["domains"]]
        letters = {"off": "none", "hold": "H", "yield": "Y"}
        said = "none" if modes == ["off", "off"] else "".join(letters[mode] for mode in modes)
        assert said == case.labels["schemes"]


def test_timers_and_release_orders():
    for case in cases(WHOLE):
        intervals = {domain["release_interval"] for domain in case.settings["domains"]}
        if "no timer" in str(case.labels["experiment"]):
            assert intervals == {0}
        elif case.labels["experiment"] != "release-interval":
            assert intervals == {"20m"}
        orders = {domain.get("release_order") for domain in case.settings["domains"]}
        assert orders == ({"last"} if case.labels["experiment"] == LAST else {None})


def test_long_runs_are_longer_than_ten_days():
    spans = {case.labels["point"] for case in cases(WHOLE) if case.labels["experiment"] == LONG_NO_TIMER}
    assert spans == {10, 20, 30, 60, 120}


def test_a_sensitivity_changes_one_setting_at_both_ends():
    names = {sensitivity.name for sensitivity in sensitivities(WHOLE)}
    assert names == {
        "release-interval", "held-cap", "yield-limit", "yield-boost", "pair-window", "estimates", "unreachable",
        "partitions", "eureka-sessions", "eureka-swing", "eureka-large", "eureka-spread", "month-jobs", "month-large",
        "month-paired",
    }  # fmt: skip
    for sensitivity in sensitivities(WHOLE):
        share = sensitivity.share
        settings = WHOLE.by_load("HH", 0.5, 1) if share is None else WHOLE.by_share("HH", share, 1)
        assert sensitivity.usual in sensitivity.points
        for point in sensitivity.points:
            if point != sensitivity.usual:
                assert sensitivity.vary(settings, point, 30) != settings


def test_the_link_is_down_for_the_share_that_is_asked_for():
    unreachable = next(s for s in sensitivities(WHOLE) if s.name == "unreachable")
    down = 0
    for seed in range(40):
        script = unreachable.vary({"seed": seed, "domains": []}, 0.1, 30)["script"]
        cuts = [tuple(map(int, found)) for found in re.findall(r"^(\d+) cut intrepid eureka (\d+)$", script, re.M)]
        assert all(end[0] >= begin[0] + begin[1] for begin, end in itertools.pairwise(cuts))
        down += sum(length for _, length in cuts)
    assert down / (40 * 40 * 86_400) == pytest.approx(0.1, rel=0.1)
