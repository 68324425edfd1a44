"""Users may use only what the site's file lets them: at submission, in placement, and when a mate asks."""

import re

import pytest

from cosched.core.scheduling.scheduler import ClusterJob
from cosched.service.store import Store
from cosched_papers.heterogeneous.jobs import Classed, Priority
from cosched_papers.heterogeneous.scheduler import Heterogeneous
from cosched_papers.heterogeneous.settings import Algorithm, HeterogeneousSettings
from cosched_papers.heterogeneous.site import Cluster, Machine, Restricted, Site

MACHINES = (Machine("a", "x"), Machine("b", "x"), Machine("c", "y"))
TIMES = {("m", "a"): 10, ("m", "b"): 20, ("m", "ab"): 4, ("one", "c"): 5, ("secret", "a"): 5}
ANN = frozenset({"ann"})


def opened(algorithm: Algorithm = Algorithm.PJS, **closed: str) -> Heterogeneous:
    """All that is `closed` is for ann only."""
    users = {(Restricted[what], name): ANN for what, name in closed.items()}
    site = Site(MACHINES, (Cluster("ab", (0, 1), 2),), users=users)
    return Heterogeneous(HeterogeneousSettings(site, TIMES, algorithm))


def started(scheduler: Heterogeneous, *owners: str) -> list[str]:
    """Where jobs of the class m run that these users submit."""
    scheduler.enter(0)
    for number, owner in enumerate(owners):
        scheduler.submit(ClusterJob(str(number), 1, 1, 0, paired=False, owner=owner, columns=Classed("m")))
    found = dict[str, str]()
    while (turn := scheduler.next(0)) is not None:
        found[turn.job] = scheduler.start(turn.job, 0).resource
    return [found.get(str(number), "") for number in range(len(owners))]


def test_others_get_what_is_left_of_the_site():
    assert started(opened(), "bob") == ["ab"]
    assert started(opened(CLUSTER="ab"), "bob") == ["a"]
    assert started(opened(CLUSTER="ab"), "ann") == ["ab"]
    assert started(opened(MACHINE="a"), "bob") == ["b"], "nor a cluster of which a member is closed"
    assert started(opened(Algorithm.MCT, MACHINE="a"), "bob", "ann") == ["b", "a"]
    assert started(opened(CLUSTER="ab"), "") == ["ab"], "jobs of logs have no users"


def test_a_mate_that_asks_gets_no_more():
    scheduler = opened(MACHINE="a")
    scheduler.enter(0)
    scheduler.submit(ClusterJob("1", 1, 1, 0, paired=True, owner="bob", columns=Classed("m")))
    assert scheduler.try_start("1", 0, 9).resource == "b"


@pytest.mark.parametrize(
    ("closed", "job_class", "said"),
    [
        ({"QUEUE": "medium"}, "m", "bob may not use the queue medium: the site's file says who may"),
        ({"JOB_CLASS": "secret"}, "secret", "bob may not use the job class secret: the site's file says who may"),
        ({"MACHINE": "c"}, "one",
         "bob may use no machine on which a job of the class one can run (c): the site's file"),
    ],
)  # fmt: skip
def test_who_may_not_is_told_in_one_line(closed, job_class, said):
    scheduler = opened(**closed)
    with pytest.raises(ValueError, match=re.escape(said)):
        scheduler.check(ClusterJob("1", 1, 1, 0, paired=False, owner="bob", columns=Classed(job_class)))
    scheduler.check(ClusterJob("1", 1, 1, 0, paired=False, owner="ann", columns=Classed(job_class)))


def test_the_database_has_the_tables_of_figure_1(tmp_path):
    scheduler = opened(CLUSTER="ab", QUEUE="high")
    store = Store.open(tmp_path / "lab.db", "lab")
    for _ in range(2):  # the second start finds those of the first
        with store.transaction():
            store.save_site(scheduler.site_tables)
    tables = {name: rows for name, (_, rows) in store.site().items()}
    store.close()
    assert tables == {
        "policies": [("on_failure", "stop"), ("promote_after", "0"), ("quantum", "0")],
        "machine_classes": [("x", ""), ("y", "")],
        "machines": [("a", "x", 1), ("b", "x", 1), ("c", "y", 1)],
        "interconnects": [],
        "clusters": [("ab", 2, None)],
        "cluster_members": [("ab", "a"), ("ab", "b")],
        "queues": [(queue, "pjs", 0, 0) for queue in sorted(of.name.lower() for of in Priority)],
        "job_classes": [("m", ""), ("one", ""), ("secret", "")],
        "file_times": [(*pair, seconds) for pair, seconds in sorted(TIMES.items())],
        "access": [("cluster", "ab", "ann"), ("queue", "high", "ann")],
        "users": [],
        "runs": [],
        "stated_times": [],
    }
