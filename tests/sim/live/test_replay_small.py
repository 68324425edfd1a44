"""Live replays in lock-step equal the simulation: small cases of all kinds, with many events at the same instants."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cosched_sim.configuration import Domain, ReplayConfig
from cosched_sim.workload.jobs import Workload
from tests.sim.exact import EXPRESSION
from tests.sim.live.replays import assert_equal
from tests.sim.reports.runs import domain
from tests.tiers import soaked

Settings = dict[str, Any]  # of a domain, by key
UNITS = 8
SCHEMES = [("hold", "yield"), ("meet", "meet"), ("yield", "hold"), ("hold", "hold"), ("yield", "yield")]
MEETING = [("hold", "meet"), ("meet", "yield"), ("meet", "off")]
ANY = "hold yield meet off"

some_cases = settings(
    derandomize=True,  # the same cases in every run
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
)


def workload(name: str, data: bytes) -> Workload:
    """Jobs of four bytes each, submitted close together; their ids are text."""
    rows = np.frombuffer(data[: len(data) // 4 * 4], np.uint8).astype(np.int64).reshape(-1, 4)
    rows = rows[np.argsort(rows[:, 0] % 41, kind="stable")]
    run = 1 + rows[:, 1] % 30
    ids = np.array([f"{name}.{i}" for i in range(len(rows))])
    return Workload(name, ids, rows[:, 0] % 41, run, 1 + rows[:, 3] % UNITS, run + rows[:, 2] % 31)


def drawn(draw, name: str, jobs: int, choices: Settings, fixed: Settings) -> tuple[Settings, Workload]:
    """One of the `choices` for each setting that is not `fixed`, and up to so many jobs."""
    chosen = {key: draw(strategy) for key, strategy in choices.items() if key not in fixed}
    return chosen, workload(name, draw(st.binary(min_size=4 * (jobs // 2), max_size=4 * jobs)))


@st.composite
def domains(draw, name: str, jobs: int, **fixed: object) -> Domain:
    """A domain with settings of all kinds but those `fixed`."""
    choices = {
        "policy": st.sampled_from(["fcfs", "wfp", "wfp", "shortest-first", "largest-first", EXPRESSION]),
        "backfill": st.sampled_from(["easy", "easy", "conservative", "none"]),
        "node_pool": st.sampled_from(["flat", "flat", "partitioned:8x1"]),
        "release_interval": st.sampled_from([0, 7, 7, 20, 60]),
        "release_jitter": st.sampled_from(["0", "0.25", "1"]),
        "release_order": st.sampled_from(["wanted", "wanted", "last"]),
        "max_held_fraction": st.sampled_from(["0.3", "0.5", "1"]),
        "max_yields": st.sampled_from([0, 0, 1, 3]),
        "yield_boost": st.sampled_from(["0", "0", "0.5"]),
        "mate_patience": st.sampled_from([None, None, 0, 5, 30]),
    }
    chosen, work = drawn(draw, name, jobs, choices, fixed)
    if chosen["node_pool"] != "flat":
        work.nodes[:] = 2 ** np.ceil(np.log2(work.nodes)).astype(np.int64)
    return Domain(name=name, trace=work, nodes=UNITS, **chosen, **fixed)


def pairs_of(draw, chosen: list[Domain], most: int, members: int = 2, windows: Sequence[str] = ("",)) -> str:
    """Rows of a pairs file: jobs of two or more domains, up to so many `members`; each is in one row at most.

    All but one of a row have some of these `windows`.
    """
    free = {domain.name: domain.trace.job_id.tolist() for domain in chosen}
    lines = [",".join(free)]
    for _ in range(draw(st.integers(1, most))):
        names = [name for name, ids in free.items() if ids]
        if len(names) < 2:
            break
        some = draw(st.permutations(names))[: draw(st.integers(2, members))]
        taken = {name: free[name].pop(draw(st.integers(0, len(free[name]) - 1))) for name in some}
        taken |= {name: f"{taken[name]}{draw(st.sampled_from(windows))}" for name in some[1:]}
        lines.append(",".join(taken.get(name, "") for name in free))
    return "\n".join(lines) + "\n"


def check(data, live, chosen: list[Domain], most: int, members: int = 2, windows: Sequence[str] = ("",)) -> None:
    with tempfile.TemporaryDirectory() as folder:
        pairs = Path(folder) / "pairs.csv"
        pairs.write_text(pairs_of(data.draw, chosen, most, members, windows))
        assert_equal(ReplayConfig(domains=tuple(chosen), pairs=pairs), live)


def check_some(live, schemes: Sequence[str], jobs: int, *pairs: Any, cases: int = 8) -> None:
    """Cases of domains with these schemes, or one of several, and up to so many jobs each."""

    @settings(some_cases, max_examples=cases)
    @given(st.data())
    def case(data):
        drawn = [data.draw(st.sampled_from(scheme.split())) for scheme in schemes]
        chosen = [data.draw(domains(name, jobs, scheme=of)) for name, of in zip("ABCD", drawn, strict=False)]
        check(data, live, chosen, 10, *pairs)

    case()


@pytest.mark.parametrize("schemes", soaked([*SCHEMES, *MEETING], 2), ids="-".join)
def test_two_domains(threaded, schemes):
    check_some(threaded, schemes, 12)


def test_three_domains_some_of_which_may_not_coschedule(threaded):
    check_some(threaded, [ANY] * 3, 8)


@pytest.mark.parametrize("count", soaked([3, 4], 1))
def test_groups_among_domains(threaded, count):
    check_some(threaded, [ANY] * count, 8, count)


@pytest.mark.parametrize("count", soaked([3, 4], 0))
def test_groups_all_of_whose_domains_meet(threaded, count):
    check_some(threaded, ["meet"] * count, 10, count, cases=40)


@pytest.mark.soak
def test_groups_with_windows(threaded):
    windows = ["", "@0..10", "@-30..30", "@10..10", "@100..120", "@-10..0"]
    check_some(threaded, ["meet"] * 3, 10, 3, windows, cases=40)


def test_a_member_that_is_late_ends_the_slot_of_the_others(threaded, tmp_path):
    """A domain whose slot ends because of a question tells the others, whose schedules change by that, too."""
    largest, pool = {"policy": "largest-first"}, {"node_pool": "partitioned:8x1"}
    impatient, never = {"mate_patience": 5}, {"mate_budget": "0"}
    jobs = {  # submit, run, nodes, requested
        "A": (largest | pool | impatient | {"backfill": "none"}, [(6, 22, 8, 35), (10, 25, 4, 52), (18, 6, 8, 11)]),
        "B": (impatient | {"backfill": "none"}, [(34, 29, 8, 37), (39, 4, 6, 13)]),
        "C": (impatient | never, [(17, 22, 4, 49)]),
        "D": (
            largest | pool | never | {"backfill": "conservative"},
            [(15, 25, 2, 49), (17, 28, 2, 50), (31, 27, 8, 28)],
        ),
    }
    chosen = []
    for name, (rules, rows) in jobs.items():
        work = Workload(name, np.arange(1, len(rows) + 1), *np.array(rows).T)
        chosen.append(Domain(name=name, trace=work, nodes=8, scheme="meet", **{"policy": "fcfs"} | rules))
    (tmp_path / "pairs.csv").write_text("A,B,C,D\n2,2,1,1\n")
    simulated = assert_equal(ReplayConfig(domains=tuple(chosen), pairs=tmp_path / "pairs.csv"), threaded)
    assert simulated.groups["together"] == 1


@pytest.mark.soak
def test_an_endless_exchange_of_holds_is_ended_after_as_many_instants(threaded, tmp_path):
    """The four-pair livelock of coscheduling.md."""
    last = {"max_held_fraction": "1", "release_jitter": "0", "release_order": "last"}
    both = tuple(domain(n, 10, *((at + s, 100, 6) for s in range(4)), **last) for n, at in (("A", 0), ("B", 400)))
    (tmp_path / "pairs.csv").write_text("A,B\n1,3\n3,1\n2,4\n4,2\n")
    simulated = assert_equal(ReplayConfig(domains=both, pairs=tmp_path / "pairs.csv"), threaded)
    assert simulated.stalled
    assert simulated.pairs["never"] == 4
