"""The site and its times, jobs that arrive, tables of the usual kinds, and cases that are carried out."""

from collections import Counter

import numpy as np
import pytest

from cosched_papers.heterogeneous.calls import total
from cosched_papers.heterogeneous.greedy import sjs
from cosched_papers.heterogeneous.resources import Resources
from cosched_papers.studies.collins2001 import COLLINS, measuring
from cosched_papers.studies.collins2001.measuring import HIGH, MEASURES, PER_CENT, arriving, measures, of_priority
from cosched_papers.studies.collins2001.setup import FEW, MANY, NONE, PJS, SJS, at, experiments
from cosched_papers.studies.collins2001.site import CLASSES, HOUSE, KINDS, SPEED_UPS, THIRD, site_of, speed_up, times_of

SITE = site_of(preemptive=False, quantum=0)
SAID = {"replications": 1, "seed": 3, "quick": True}


def case(place, number=1):
    return next(each for each in experiments(SAID, None) if each.name == place[0]).settings(*place[1:], number)


def carried_out(place):
    said = case(place)
    return MEASURES[said["what"]](said, np.random.default_rng(said["seed"]))


def test_the_site_is_that_of_the_paper():
    """ "142 machines, forming 18 clusters"; "clusters of 8 identical machines, with one cluster having only 6" """
    assert len(SITE.machines) == 142
    assert Counter(len(cluster.members) for cluster in SITE.clusters) == {8: 17, 6: 1}
    of_clusters = [{SITE.machines[member].machine_class for member in cluster.members} for cluster in SITE.clusters]
    assert all(len(kinds) == 1 for kinds in of_clusters)
    assert set.union(*of_clusters) == set(KINDS)
    assert sorted(member for cluster in SITE.clusters for member in cluster.members) == list(range(142))


def test_times_on_clusters_follow_their_machines_or_are_a_third_of_the_mean():
    house, third = (times_of(table, SITE, 1) for table in (HOUSE, THIRD))
    for of in CLASSES:
        alone = [house[of, machine.name] for machine in SITE.machines]
        assert alone == [third[of, machine.name] for machine in SITE.machines]
        if of == "statistics":
            assert not any((of, cluster.name) in house for cluster in SITE.clusters)
            continue
        assert {third[of, cluster.name] for cluster in SITE.clusters} == {int(np.mean(alone) / 3 + 0.5)}
        for cluster in SITE.clusters[:-1]:
            assert house[of, cluster.name] == pytest.approx(alone[cluster.members[0]] / SPEED_UPS[of], abs=0.6)


def test_speed_ups_follow_amdahl():
    assert speed_up(4, 8) == pytest.approx(4)
    assert speed_up(4, 1) == 1
    assert speed_up(4, 6) == pytest.approx(6 / (1 + 5 / 7))


def test_jobs_at_once_have_their_shares_and_classes_in_turn():
    says, submit = measuring.all_at_once(100, PER_CENT[FEW], 0, np.random.default_rng(1))
    assert Counter(job.priority.name for job in says) == {"HIGH": 10, "MEDIUM": 10, "LOW": 80}
    assert [job.job_class for job in says[:10]] == [*CLASSES, *CLASSES]
    assert not submit.any()


def test_jobs_arrive_at_multiples_of_the_quantum():
    """ "arriving randomly according to each Poisson arrival rate used and with priority levels randomly determined" """
    says, submit = arriving(4000, PER_CENT[MANY], 4, np.random.default_rng(1))
    assert len(submit) == 4000
    assert set(np.diff(submit) % 10) == {0}
    assert submit[-1] / 10 == pytest.approx(1000, rel=0.1)
    share = Counter(job.priority.name for job in says)
    assert share["HIGH"] / 4000 == pytest.approx(0.5, abs=0.03)
    assert share["MEDIUM"] == pytest.approx(share["LOW"], rel=0.15)
    assert {job.priority.name for job in arriving(50, PER_CENT[NONE], 4, np.random.default_rng(1))[0]} == {"MEDIUM"}


def test_jobs_of_one_priority_at_once_are_one_call():
    """5.4: "the problem reduces to that of the second case study" """
    place = at(2, HOUSE, NONE, 20, SJS)
    resources = Resources(SITE, times_of(HOUSE, SITE, SAID["seed"]))
    jobs = [(job_class, "") for job_class in CLASSES * 4]
    call = resources.call(jobs, np.zeros(142, np.int64), resources.order(set()))
    assert carried_out(place)["sum"] == total(sjs(call))
    parallel = carried_out(at(2, HOUSE, NONE, 5, PJS))
    assert parallel["on clusters"] == 80  # "strictly sequential" is one class of five
    assert parallel["sum"] < carried_out(at(2, HOUSE, NONE, 5, SJS))["sum"]


def test_jobs_of_high_priority_preempt():
    few = {**case(at(4, HOUSE, FEW, 8, PJS)), "jobs": 60}
    row = MEASURES["site"](few, np.random.default_rng(1))
    assert row["preempted"] > 0
    assert row[of_priority(HIGH, "job time")] < row["job time"]
    assert row["sum"] == pytest.approx(60 * row["job time"])


def test_what_calls_take_is_measured():
    row = carried_out(("1 PJS", 5.0, "100 %"))
    assert row["PJS / SJS"] == row["PJS (ms)"] / row["SJS (ms)"] > 0
    assert 0 <= row["jobs on clusters"] <= 5
    assert carried_out(("1 PJS", 5.0, "0 %"))["jobs on clusters"] == 0
    assert list(carried_out(("1 SJS", 5.0, "5 machines"))) == ["SJS (ms)"]


@pytest.mark.parametrize("kind", ["consistent", "semi-consistent", "inconsistent"])
def test_tables_of_the_usual_kinds(monkeypatch, kind):
    drawn = []
    monkeypatch.setattr(measuring, "ALGORITHMS", {algorithm: lambda call: drawn.append(call.seq) or sjs(call)
                                                  for algorithm in measuring.Algorithm})  # fmt: skip
    label = f"{kind}, jobs high, machines low"
    tables = next(each for each in experiments(SAID, None) if each.name == "tables")
    row = carried_out(("tables", tables.points[tables.labels.index(label)], SJS))
    (table,) = drawn
    rising = (np.diff(table[:, ::2], axis=1) >= 0).all()
    assert (rising, (np.diff(table, axis=1) >= 0).all()) == (kind != "inconsistent", kind == "consistent")
    assert table.min() >= 1
    assert 1000 < table.max() <= 30_000
    assert row["completion"] <= row["makespan"]


def test_all_of_a_replication_have_the_same_times_and_what_is_the_same_is_carried_out_once():
    cases = COLLINS.load().cases(SAID, None)
    assert {each.settings["seed"] for each in cases} == {3}
    assert all(each.measure is measures for each in cases)
    of_study_2, of_study_3 = (
        {each.key for each in cases if each.labels["experiment"] == f"{number} {HOUSE} {NONE}"} for number in (2, 3)
    )
    assert len(of_study_2 & of_study_3) == 6  # SJS and PJS on 20, 60 and 100 jobs
