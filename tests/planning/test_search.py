"""The search of Dail et al. 2002, III.B, against a slow one, and against all groups there are."""

import math

import pytest

from cosched.planning.grid import Grid
from cosched.planning.metrics import METRICS, rankings
from cosched.planning.search import Search
from cosched.planning.sites import by_delay, by_name, collections
from cosched.planning.strips import JACOBI
from tests.bench import planning as planning_bench
from tests.planning.testbeds import drawn, grid, paper
from tests.reference import planning

SIZE = 60
SETTINGS = JACOBI.keys()


def searched(machines: Grid, size: int, **options):
    sites = by_name(machines)
    search = Search(machines.machines, sites, **options)
    return search, search.best(*JACOBI.make(size, SETTINGS, machines, sites))


def plain(machines: Grid) -> list[tuple]:
    return [(each.name, each.name.partition(".")[2], each.speed, each.cpu, each.memory) for each in machines.machines]


def slow(machines: Grid, size: int) -> planning.Strips:
    by_machine_name = {each.name: each for each in machines.machines}
    return planning.Strips(
        size, plain(machines), lambda one, other: machines.link(by_machine_name[one], by_machine_name[other])
    )


def told(schedule) -> tuple | None:
    if schedule is None:
        return None
    machines = [each.name for each in schedule.map.machines]
    names = tuple(site[0].name.partition(".")[2] for site in schedule.sites)
    return schedule.prediction.time, names, schedule.metric, machines, list(schedule.map.shares)


def told_slowly(found) -> tuple | None:
    return None if found is None else (*found[:3], [machine[0] for machine in found[3]], found[4])


def agree(machines: Grid, size: int) -> bool:
    """Whether the search finds what the slow one finds; False if neither finds anything."""
    found = told(searched(machines, size)[1])
    expected = told_slowly(planning.search(plain(machines), slow(machines, size)))
    if expected is not None:
        assert found[0] == pytest.approx(expected[0], rel=1e-12)
    assert (found and found[1:]) == (expected and expected[1:])
    return expected is not None


def test_the_result_is_that_of_the_slow_search():
    """By site and by machine; memory is scarce, processors are lost and links are missing in many."""
    found = [
        agree(drawn(seed, 3 + seed % 9, 1 + seed % 4, SIZE, by_machine=seed % 3 == 0, alike=seed % 7 == 0), SIZE)
        for seed in range(150)
    ]
    assert 60 < sum(found) < 150


@pytest.mark.soak
def test_the_result_is_that_of_the_slow_search_for_many_seeds():
    for seed in range(1000, 3000):
        agree(drawn(seed, 3 + seed % 12, 1 + seed % 5, SIZE, by_machine=seed % 3 == 0, alike=seed % 7 == 0), SIZE)


@pytest.mark.soak
def test_the_result_is_that_of_a_search_which_leaves_nothing_out_for_a_thousand_machines():
    """Page, "Speed": 1,000 machines at 8 sites, 384,000 candidates: 20 minutes of a processor, 1.6 s the fast way."""
    machines = planning_bench.drawn(0, 1000, 8)
    _, found = planning_bench.searched(machines, 16_800)
    _, expected = planning_bench.searched(machines, 16_800, patient=True)
    assert Search(machines.machines, by_name(machines)).considered.candidates == 384_000
    assert found == expected


def test_it_often_finds_the_best_of_all_groups():
    """Page, "Study": the search is as good as all 2^p groups where links are by site; without dropped links here."""
    ratios = []
    for seed in range(60):
        machines = drawn(seed, 6, 3, SIZE)
        _, best = searched(machines, SIZE)
        least = planning.exhaustive(plain(machines), slow(machines, SIZE))
        if best is not None and least is not None:
            ratios.append(best.prediction.time / least)
    assert min(ratios) >= 1 - 1e-12
    assert sum(ratio < 1 + 1e-12 for ratio in ratios) >= 0.8 * len(ratios)


def test_the_candidates_are_half_of_the_paper_s_bound():
    """III.B: "the upper bound on the number of CMGs that must be evaluated by our search procedure is 3p2^s"."""
    search, _ = searched(paper(), 600)
    assert search.considered.candidates == 288 == 3 * 24 * 2**3 // 2
    assert search.considered.distinct == 98
    groups = {tuple(group) for *_, group in planning.candidates(plain(paper()))}
    assert len(groups) == search.considered.distinct
    assert searched(grid([("a.x", 1, 1), ("b.x", 1, 1), ("c.y", 1, 1)]), 10)[0].considered.candidates == 18
    assert searched(grid([("a.x", 1, 1)]), 10)[0].considered.candidates == 3


def test_distinct_candidates_are_counted_as_by_hand():
    for seed in range(40):
        machines = drawn(seed, 3 + seed % 9, 1 + seed % 4)
        listed = list(planning.candidates(plain(machines)))
        considered = searched(machines, SIZE)[0].considered
        assert considered.candidates == len(listed)
        assert considered.distinct == len({tuple(group) for *_, group in listed})


def test_metrics_rank_as_on_the_page():
    """Speeds 100, 50, 100, memories 10, 40, 40: computation a c b, memory b c a, dual (.625, .75, 1) c b a."""
    machines = grid([("a", 100, 10), ("b", 50, 40), ("c", 100, 40)])
    ranked = {metric: "".join(m[0] for m in group) for _, metric, group in planning.candidates(plain(machines))}
    assert ranked == {"computation": "acb", "memory": "bca", "dual": "cba"}
    values = rankings(machines.machines)
    assert [*values["dual"].values()] == [0.625, 0.75, 1]
    assert {metric: "".join(each.name for each in sorted(machines.machines, key=lambda m: -values[metric][m]))
            for metric in METRICS} == ranked  # fmt: skip


def test_of_two_equal_machines_without_a_usable_link_the_first_is_chosen():
    search, best = searched(grid([("a.x", 100, 100), ("b.y", 100, 100)], [("a.x", "b.y", 0.001, 1.0)]), 100)
    assert [each.name for each in best.map.machines] == ["a.x"]
    assert (best.metric, len(best.sites)) == ("computation", 1)
    assert search.considered.candidates == 12


def test_a_machine_without_memory_takes_no_part():
    _, best = searched(grid([("a", 1000, 0), ("b", 100, 9), ("c", 100, 9)], [("b", "c", 1000, 0.0)]), 1000)
    assert ([each.name for each in best.map.machines], best.map.shares) == (["b", "c"], (500, 500))


def test_collections_are_in_the_paper_s_order():
    """III.B: "for the set of sites {A, B, C}, there are seven site collections"."""
    sites = by_name(grid([("1.a", 1, 1), ("1.b", 1, 1), ("1.c", 1, 1)]))
    names = ["".join(site[0].name[-1] for site in each) for each in collections(sites)]
    assert names == ["a", "b", "c", "ab", "ac", "bc", "abc"]


def test_sites_have_equal_names_after_the_first_dot():
    """Opus and Major are in one domain, so in one site."""
    assert [len(site) for site in by_name(paper())] == [6, 8, 10]
    assert [[each.name for each in site] for site in by_name(grid([("a", 1, 1), ("b.x", 1, 1), ("c", 1, 1)]))] == [
        ["a", "c"], ["b.x"]
    ]  # fmt: skip


def test_sites_by_delay_are_cut_at_the_largest_ratio():
    links = [("a", "b", 1, 0.001), ("c", "d", 1, 0.002), ("a", "c", 1, 0.03), ("b", "d", 1, 0.05), ("b", "c", 1, 0.03)]
    machines = grid([(name, 1, 1) for name in "acbde"], links)
    assert ["".join(each.name for each in site) for site in by_delay(machines)] == ["ab", "cd", "e"]
    near = grid([(name, 1, 1) for name in "abc"], [("a", "b", 1, 0.001), ("b", "c", 1, 0.0029)])
    assert [len(site) for site in by_delay(near)] == [3]  # no ratio of 3
    assert [len(site) for site in by_delay(paper())] == [6, 8, 10]


def test_a_limited_search_says_what_it_leaves_out():
    machines = drawn(1, 24, 8)
    everything, _ = searched(machines, SIZE)
    some, _ = searched(machines, SIZE, most=1000)
    left = some.considered
    assert everything.considered.candidates == 3 * 24 * 2**7 == left.candidates + left.candidates_left_out
    assert left.candidates <= 1000
    assert left.collections + left.collections_left_out == 2**8 - 1
    assert everything.considered.candidates_left_out == everything.considered.collections_left_out == 0
    sites = grid([(f"a.{site}", 100, 100) for site in range(30)])
    thirty = Search(sites.machines, by_name(sites), most=2000)  # 2^30 collections are not even counted one by one
    assert thirty.considered.collections_left_out == 2**30 - 1 - thirty.considered.collections


def test_the_best_of_each_collection_is_told_or_why_there_is_none():
    for seed in range(20):
        machines = drawn(seed, 8, 3)
        sites = by_name(machines)
        search = Search(machines.machines, sites)
        application = JACOBI.make(SIZE, SETTINGS, machines, sites)
        each, best = search.best_of_each(*application), search.best(*application)
        assert [sites for sites, _ in each] == list(collections(sites))
        times = [found.prediction.time for _, found in each if not isinstance(found, str)]
        assert min(times, default=math.inf) == (best.prediction.time if best else math.inf)
        slowly = slow(machines, SIZE)
        for of_sites, found in each:
            names = {site[0].name.partition(".")[2] for site in of_sites}
            groups = [group for *_, group in planning.candidates(plain(machines)) if {m[1] for m in group} == names]
            done = [schedule[0] for group in groups if (schedule := slowly.schedule(group))]
            assert (not isinstance(found, str)) == bool(done)
            assert not done or found.prediction.time == pytest.approx(min(done), rel=1e-12)
