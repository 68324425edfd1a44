"""Groups of three jobs, computed by hand from coscheduling.md."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from . import RefDomain, RefJob, World

THREE = (("A", 1), ("B", 1), ("C", 1))
FIRST, SECOND = "1", "4"  # of these two groups on A, B and C, SECOND comes before FIRST


@dataclass
class Case:
    """Three machines of 10 nodes; FCFS, EASY, whole machines to hold, no jitter."""

    jobs: Mapping[str, list[tuple[int, int, int, int]]]  # by domain: submit, run = requested, nodes
    schemes: str  # a letter for each domain: hold, yield, off
    expected: Mapping[str, list[int | None]]
    groups: Mapping[str, tuple[tuple[str, int], ...]] = field(default_factory=lambda: {FIRST: THREE})
    release_interval: int = 1200

    def starts(self):
        scheme = {"h": "hold", "y": "yield", "o": "off"}
        domains = [
            RefDomain(
                name,
                10,
                [RefJob(id, submit, run, run, nodes) for id, (submit, run, nodes) in enumerate(jobs, 1)],
                scheme=scheme[letter],
                release_interval=self.release_interval,
                release_jitter="0",
                max_held_fraction="1",
            )
            for (name, jobs), letter in zip(self.jobs.items(), self.schemes, strict=True)
        ]
        world = World(domains, [], large=self.groups)
        world.run(10_000)
        outcomes = world.outcomes()
        return {d.name: [outcomes[d.name, job.job_id].start for job in d.jobs] for d in domains}


TWO = {FIRST: THREE, SECOND: (("A", 2), ("B", 2), ("C", 2))}
CASES = {
    # "All have said yes: [...] it is sent to all, and j starts." A holds from 0, B yields, C's nodes are free at 100.
    "all say yes": Case(
        {"A": [(0, 50, 4)], "B": [(10, 50, 4)], "C": [(20, 50, 4), (0, 100, 10)]},
        "hyh",
        {"A": [100], "B": [100], "C": [100, 0]},
    ),
    # "One has said no: the drop is recorded and sent, and j holds or yields." B's nodes are free again: job 2 gets them
    # at 30, and so B is the one that says no at 100.
    "one says no": Case(
        {"A": [(20, 50, 4)], "B": [(10, 50, 4), (30, 500, 8)], "C": [(20, 50, 4), (0, 100, 10)]},
        "yyy",
        {"A": [530], "B": [530, 30], "C": [530, 0]},
    ),
    # "j asks for the state of all others": A and B wait for C's job until it is submitted.
    "unsubmitted": Case(
        {"A": [(0, 50, 4)], "B": [(0, 50, 4)], "C": [(70, 50, 4)]}, "hhh", {"A": [70], "B": [70], "C": [70]}
    ),
    "a domain without coscheduling has no member": Case(
        {"A": [(0, 50, 4)], "B": [(10, 50, 4)], "C": [(20, 50, 4), (0, 100, 10)]},
        "hho",
        {"A": [10], "B": [10], "C": [100, 0]},
    ),
    # "While a member holds, all others are wanted, whatever they have answered": A holds from 100 to 1300, so at 1200,
    # when B's job 2 is released, job 1 comes before job 3, which has no group and was submitted earlier. It holds until
    # C's nodes are free at 2000. At 2500 job 2 is first again, and holds until 3700. Then job 3, which was not
    # released, comes before it. The second group starts when its others come.
    "wanted": Case(
        {
            "A": [(100, 500, 6), (5000, 50, 6)],
            "B": [(60, 500, 6), (0, 50, 6), (50, 500, 6)],
            "C": [(60, 500, 6), (5000, 50, 2), (0, 2000, 10)],
        },
        "hhh",
        {"A": [2000, 5000], "B": [2000, 5000, 3700], "C": [2000, 5000, 0]},
        groups=TWO,
    ),
    # "A member gives way": at 100 B has nodes for one of two. Job 1 comes first, but its group second, and job 2 of A
    # holds. So job 1 yields, and job 2 starts. The other group follows at 150.
    "gives way": Case(
        {
            "A": [(50, 50, 6), (40, 50, 6)],
            "B": [(10, 50, 6), (20, 50, 6), (0, 100, 10)],
            "C": [(30, 50, 6), (30, 50, 2)],
        },
        "hhy",
        {"A": [150, 100], "B": [150, 100, 0], "C": [150, 100]},
        groups=TWO,
    ),
    # The same, but A's job 2 came before its others: "Who holds because some member is not submitted has asked for
    # nobody", so B's job 1 holds from 100. A's job 2 is released at 1200, and job 1 is wanted by B's hold.
    "does not give way": Case(
        {
            "A": [(50, 50, 6), (0, 50, 6)],
            "B": [(10, 50, 6), (20, 50, 6), (0, 100, 10)],
            "C": [(30, 50, 6), (30, 50, 2)],
        },
        "hhy",
        {"A": [1200, 1250], "B": [1200, 1250, 0], "C": [1200, 1250]},
        groups=TWO,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_hand_worked(name):
    assert CASES[name].starts() == CASES[name].expected
