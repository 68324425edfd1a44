"""Live replays in lock-step equal the simulation where a domain is fluid, molds its jobs, or has unlike machines.

All times, pairs and summaries are compared, and every size and place that a job had.
"""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosched_sim.configuration import Domain
from tests.sim.live.conftest import threaded
from tests.sim.live.test_replay_small import UNITS, check, domains, drawn, some_cases
from tests.tiers import soaked

__all__ = ["threaded"]  # a fixture

SCHEMES = ("hold", "yield", "off")
OF_BOTH = {
    "release_interval": st.sampled_from([0, 7, 20]),
    "release_jitter": st.sampled_from(["0", "0.25"]),
    "max_held_fraction": st.sampled_from(["0.3", "1"]),
    "mate_patience": st.sampled_from([None, 5]),
}


@st.composite
def fluid_domains(draw, name: str, jobs: int, **fixed: object) -> Domain:
    """A fluid domain with settings of all kinds but those `fixed`."""
    choices = {
        "harvesting": st.sampled_from(("never", "even", "fair", "long", "short", "low_impact")),
        "distribution": st.sampled_from(["favor_running", "favor_queued"]),
        "level": st.sampled_from([None, None, 2]),
        "resizes": st.sampled_from([True, True, True, False]),
        "max_harvests": st.sampled_from([None, None, 1]),
        "protect_age": st.sampled_from([0, 0, 5]),
        "benefit": st.sampled_from([False, False, True]),
        "min_share": st.sampled_from(["0.1", "0.5", "1"]),
        "model": st.sampled_from(["linear", "parabolic"]),
        "resize_cost": st.sampled_from([0, 0, 1, 3]),
        "release_order": st.sampled_from(["wanted", "last"]),
        **OF_BOTH,
    }
    chosen, work = drawn(draw, name, jobs, choices, fixed)
    return Domain(name=name, trace=work, nodes=UNITS, scheduler="fluid", **chosen, **fixed)


@st.composite
def molding_domains(draw, name: str, jobs: int, **fixed: object) -> Domain:
    """A domain whose jobs are molded, with settings of all kinds but those `fixed`."""
    sizing = draw(st.sampled_from(("scojo_p", "scojo", "cirne_berman", "none")))
    choices = {
        "moldable_share": st.sampled_from(["0.5", "1"]),
        **({"ideal_load": st.sampled_from(["0.9", "0.7"])} if sizing == "scojo_p" else {}),
        **OF_BOTH,
    }
    chosen, work = drawn(draw, name, jobs, choices, fixed)
    return Domain(name=name, trace=work, nodes=UNITS, scheduler="molding", sizing=sizing, **chosen, **fixed)


@pytest.fixture(scope="module")
def unlike(tmp_path_factory):
    """Domains of unlike machines: what draws one, whose jobs run no longer than expected, or longer."""
    folder = tmp_path_factory.mktemp("site")
    times = [(f"{size}", f"slot{n}", 2 + 3 * size * (1 + n % 3)) for size in range(1, UNITS + 1) for n in range(UNITS)]
    times += [(f"{size}", "halves", 2 * size) for size in range(1, UNITS + 1)]
    rows = [",".join(map(str, row)) for row in [("job_class", "resource", "seconds"), *times]]
    (folder / "times.csv").write_text("\n".join(rows) + "\n")
    names = [f"slot{n}" for n in range(UNITS)]
    for preemptive in ("false", "true"):
        (folder / f"{preemptive}.toml").write_text(
            f'preemptive = {preemptive}\n[[machines]]\nclass = "any"\nnames = {names}\n'
            f'[[clusters]]\nname = "halves"\nmembers = {names[: UNITS // 2]}\n'
        )

    @st.composite
    def heterogeneous_domains(draw, name: str, jobs: int, **fixed: object) -> Domain:
        choices = {"algorithm": st.sampled_from(["pjs", "pjs", "sjs", "olb", "min_min"]), **OF_BOTH}
        chosen, work = drawn(draw, name, jobs, choices, fixed)
        columns = {
            "job_class": work.nodes.astype(str).astype(object),
            "priority": np.array([draw(st.integers(0, 2)) for _ in work.nodes], np.int64),
        }
        work = replace(work, nodes=np.ones_like(work.nodes), columns=columns)
        site = folder / f"{draw(st.sampled_from(['false', 'true', 'true']))}.toml"
        places = {"site": str(site), "times": str(folder / "times.csv"), "nodes": UNITS}
        return Domain(name=name, trace=work, scheduler="heterogeneous", **places, **chosen, **fixed)

    return heterogeneous_domains


@pytest.fixture(params=["fluid", "molding", "heterogeneous"])
def kind(request, unlike):
    return {"fluid": fluid_domains, "molding": molding_domains, "heterogeneous": unlike}[request.param]


@pytest.mark.parametrize("examples", soaked([4, 100], 1))
def test_a_domain_of_this_kind_and_a_batch_domain(threaded, kind, examples):
    @settings(some_cases, max_examples=examples)
    @given(st.data())
    def case(data):
        here, there = (data.draw(st.sampled_from(SCHEMES)) for _ in range(2))
        chosen = [data.draw(kind("A", 12, scheme=here)), data.draw(domains("B", 12, scheme=there))]
        check(data, threaded, chosen, 9)

    case()


@pytest.mark.parametrize("examples", soaked([3, 100], 1))
def test_two_domains_of_this_kind(threaded, kind, examples):
    @settings(some_cases, max_examples=examples)
    @given(st.data())
    def case(data):
        chosen = [data.draw(kind(n, 12, scheme=data.draw(st.sampled_from(SCHEMES)))) for n in "AB"]
        check(data, threaded, chosen, 9)

    case()


@pytest.mark.parametrize("examples", soaked([3, 100], 1))
def test_domains_that_agree_on_slots(threaded, unlike, examples):
    @settings(some_cases, max_examples=examples)
    @given(st.data())
    def case(data):
        one, other = (
            data.draw(st.sampled_from(kinds)) for kinds in ([unlike, fluid_domains], [fluid_domains, domains])
        )
        chosen = [data.draw(kind(name, 12, scheme="meet")) for name, kind in (("A", one), ("B", other))]
        check(data, threaded, chosen, 9)

    case()


@pytest.mark.parametrize("examples", soaked([2, 60], 1))
def test_groups_of_members_of_several_kinds(threaded, unlike, examples):
    @settings(some_cases, max_examples=examples)
    @given(st.data())
    def case(data):
        kinds = [fluid_domains, *(data.draw(st.sampled_from([fluid_domains, unlike, domains])) for _ in "BC")]
        schemes = st.sampled_from([*SCHEMES, "meet"])
        chosen = [data.draw(kind(n, 8, scheme=data.draw(schemes))) for kind, n in zip(kinds, "ABC", strict=True)]
        check(data, threaded, chosen, 9, 3)

    case()
