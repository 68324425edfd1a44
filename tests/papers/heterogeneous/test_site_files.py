"""The files of a heterogeneous domain: what is read, and the one line about what is wrong."""

from pathlib import Path

import pytest

from cosched.words.errors import InputError
from cosched_papers.heterogeneous.site import Cluster, Interconnect, Machine, Restricted, Site
from cosched_papers.heterogeneous.site_files import read_site, read_times

SITE = """
quantum = "10s"
preemptive = true
promote_after = 3

[[machines]]
class = "sparc"
names = ["s1", "s2"]

[[machines]]
class = "intel"
names = ["i1"]

[[clusters]]
name = "both"
members = ["i1", "s1"]
min_members = 1

[[clusters]]
name = "sparcs"
members = ["s2", "s1"]
"""
MORE = """
[[interconnects]]
name = "gigabit"
bandwidth = 1000
latency = 50e-6

[[queues]]
name = "high"
users = ["ann"]

[[job_classes]]
name = "sort"
users = ["ann", "bob"]
description = "by merging"
"""
DESCRIBED = SITE.replace('name = "sparcs"', 'name = "sparcs"\ninterconnect = "gigabit"\nusers = ["ann"]') + MORE
TIMES = "job_class,resource,seconds\nsort,s1,30\nsort,s2,30\nsort,sparcs,20\n"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    path = tmp_path / "site.toml"
    path.write_text(SITE)
    return path


def test_a_site_is_machines_with_their_classes_and_clusters_with_their_members(site: Path) -> None:
    machines = (Machine("s1", "sparc"), Machine("s2", "sparc"), Machine("i1", "intel"))
    clusters = (Cluster("both", (0, 2), 1), Cluster("sparcs", (0, 1), 2))
    assert read_site(str(site)) == Site(machines, clusters, 10, preemptive=True, promote_after=3)


def test_clusters_of_one_kind_have_equally_many_machines_of_the_same_classes(site: Path) -> None:
    assert read_site(str(site)).kinds() == {
        "s1": "sparc", "s2": "sparc", "i1": "intel", "both": "1 x intel + 1 x sparc", "sparcs": "2 x sparc",
    }  # fmt: skip


def test_networks_and_users_are_described(site: Path) -> None:
    site.write_text(DESCRIBED.replace('"intel"', '"intel"\ndescription = "Linux"\nusers = ["bob"]'))
    found, ann, bob = read_site(str(site)), frozenset({"ann"}), frozenset({"bob"})
    assert found.clusters[1] == Cluster("sparcs", (0, 1), 2, Interconnect("gigabit", 1000.0, 50e-6))
    assert found.kinds()["sparcs"] == "2 x sparc, 1000.0 Mbit/s, 5e-05 s"
    assert found.users == {
        (Restricted.MACHINE, "i1"): bob, (Restricted.CLUSTER, "sparcs"): ann, (Restricted.QUEUE, "high"): ann,
        (Restricted.JOB_CLASS, "sort"): ann | bob,
    }  # fmt: skip
    assert (found.machine_classes, found.job_classes) == ({"intel": "Linux"}, {"sort": "by merging"})
    assert found.closed_to("ann") == {2, 3}, "i1, and the cluster that it is in"
    assert found.closed_to("bob") == {4}
    assert found.closed_to("eve") == {2, 3, 4}


def test_a_table_says_how_long_a_job_class_runs_where_it_can(site: Path) -> None:
    times = site.with_name("times.csv")
    times.write_text(TIMES)
    found = read_times(str(times), read_site(str(site)))
    assert found == {("sort", "s1"): 30, ("sort", "s2"): 30, ("sort", "sparcs"): 20}


@pytest.mark.parametrize(
    ("there", "instead", "said"),
    [
        ('class = "intel"\n', "", "machines.2.class: missing"),
        ('"i1", "s1"', '"i1", "s9"', "clusters.1.members: s9 is not a machine: name it, with its class, under"),
        ('"i1", "s1"', '"i1", "i1"', "clusters.1.members: i1 occurs twice"),
        ('"i1", "s1"', "", "clusters.1.members: at least 1 needed"),
        ('names = ["i1"]', 'names = ["s1"]', "machines.2.names: s1 occurs twice: give each machine and each cluster"),
        ('name = "gigabit"', 'name = "atm"', "clusters.2.interconnect: gigabit is not an interconnect: describe it"),
        ('interconnect = "gigabit"', "", "interconnects.1.name: gigabit serves no cluster: give one of them interc"),
        ("bandwidth = 1000", "bandwidth = 0", "interconnects.1.bandwidth: 0 is not above 0"),
        ('name = "high"', 'name = "urgent"', "queues.1.name: 'urgent' is not 'high', 'medium' or 'low'"),
        ('users = ["ann", "bob"]', "users = []", "job_classes.1.users: at least 1 needed"),
        ('"sparcs"', '"s1"', "clusters.2.name: s1 occurs twice"),
        ("min_members = 1", "min_members = 3", "clusters.1.min_members: 3 is above the number of members, 2"),
        ("min_members = 1", "min_members = 0", "clusters.1.min_members: 0 is below 1"),
        ("min_members = 1", "min_member = 1", "clusters.1.min_member: no such key; did you mean min_members?"),
        ("promote_after = 3", "promote_after = -1", "promote_after: -1 is below 0"),
        ("promote_after = 3", 'down = ["both"]', "down: both is not a machine of the site"),
        ("promote_after = 3", 'down = ["s1", "s2", "i1"]', "down: no machine is left"),
        ("quantum", "quantums", "quantums: no such key; did you mean quantum?"),
        ("names = [", "names = ", "8: not valid TOML"),
    ],
)
def test_what_is_wrong_in_a_site_is_one_line(site: Path, there: str, instead: str, said: str) -> None:
    assert there in DESCRIBED
    site.write_text(DESCRIBED.replace(there, instead))
    with pytest.raises(InputError) as error:
        read_site(str(site))
    assert str(error.value).startswith(f"{site}:{said}")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "1: its first line must be job_class,resource,seconds"),
        ("job_class,resource,seconds\n", " states no time: no job could run"),
        (TIMES.replace("s2,30", "s2,-30"), "3: '-30' is not a whole number of seconds from 1 to 1,000,000,000; leave"),
        (TIMES.replace("s2,30", "s2,0"), "3: '0' is not a whole number of seconds"),
        (TIMES.replace("s2,30", "s2,1.5"), "3: '1.5' is not a whole number of seconds"),
        (TIMES.replace("s2", "s9"), "3: the site has no machine and no cluster 's9'"),
        (TIMES.replace("s2", "s1"), "3: the time of sort on s1 is stated twice"),
        (TIMES.replace("s2,", ""), "3: 2 columns, but there are 3"),
        (TIMES + ",s1,3\n", "5: the job class is missing"),
        (TIMES.replace("sort", "mesh"), " has no time of sort, a job class of the site's file"),
        (TIMES + "mesh,both,3\n", " mesh can run on clusters only: state its time on a machine"),
    ],
)
def test_what_is_wrong_in_a_table_is_one_line(site: Path, text: str, said: str) -> None:
    site.write_text(DESCRIBED)
    times = site.with_name("times.csv")
    times.write_text(text)
    with pytest.raises(InputError) as error:
        read_times(str(times), read_site(str(site)))
    assert str(error.value).startswith(f"{times}:{said}")
    assert "\n" not in str(error.value)
