"""Live replays in lock-step equal the simulation where jobs change their size: fluid.md, With mates, and Slots.

All times, pairs and summaries are compared, and every size that a job had.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosched.sim.configuration import Domain
from tests.live.replays import Loop, ThreadedReplay
from tests.live.test_replay_small import UNITS, check, domains, some_cases, workload
from tests.tiers import soaked

SCHEMES = ("hold", "yield", "off")
HARVESTS = ("never", "even", "fair", "long", "short", "low_impact")


@pytest.fixture(scope="module")
def threaded():
    class Here(ThreadedReplay):
        loop = Loop()

    yield Here
    Here.loop.close()


@st.composite
def fluid_domains(draw, name: str, jobs: int, **fixed: object) -> Domain:
    """A fluid domain with settings of all kinds but those `fixed`."""
    choices = {
        "harvesting": st.sampled_from(HARVESTS),
        "distribution": st.sampled_from(["favor_running", "favor_queued"]),
        "level": st.sampled_from([None, None, 2]),
        "resizes": st.sampled_from([True, True, True, False]),
        "max_harvests": st.sampled_from([None, None, 1]),
        "protect_age": st.sampled_from([0, 0, 5]),
        "benefit": st.sampled_from([False, False, True]),
        "min_share": st.sampled_from(["0.1", "0.5", "1"]),
        "model": st.sampled_from(["linear", "parabolic"]),
        "resize_cost": st.sampled_from([0, 0, 1, 3]),
        "release_interval": st.sampled_from([0, 7, 20]),
        "release_jitter": st.sampled_from(["0", "0.25"]),
        "release_order": st.sampled_from(["wanted", "last"]),
        "max_held_fraction": st.sampled_from(["0.3", "1"]),
        "mate_patience": st.sampled_from([None, 5]),
    }
    chosen = {key: draw(strategy) for key, strategy in choices.items() if key not in fixed}
    work = workload(name, draw(st.binary(min_size=4 * (jobs // 2), max_size=4 * jobs)))
    return Domain(name=name, trace=work, nodes=UNITS, scheduler="fluid", **chosen, **fixed)


@pytest.mark.parametrize("examples", soaked([4, 100], 1))
def test_a_fluid_domain_and_a_batch_domain(threaded, examples):
    @settings(some_cases, max_examples=examples)
    @given(st.data())
    def case(data):
        here, there = (data.draw(st.sampled_from(SCHEMES)) for _ in range(2))
        check(
            data,
            threaded,
            [data.draw(fluid_domains("A", 12, scheme=here)), data.draw(domains("B", 12, scheme=there))],
            9,
        )

    case()


@pytest.mark.parametrize("examples", soaked([3, 100], 1))
def test_two_fluid_domains(threaded, examples):
    @settings(some_cases, max_examples=examples)
    @given(st.data())
    def case(data):
        check(
            data,
            threaded,
            [data.draw(fluid_domains(n, 12, scheme=data.draw(st.sampled_from(SCHEMES)))) for n in "AB"],
            9,
        )

    case()


@pytest.mark.parametrize("examples", soaked([3, 100], 1))
def test_domains_that_agree_on_slots(threaded, examples):
    @settings(some_cases, max_examples=examples)
    @given(st.data())
    def case(data):
        other = data.draw(st.sampled_from([fluid_domains, domains]))
        check(
            data,
            threaded,
            [data.draw(fluid_domains("A", 12, scheme="meet")), data.draw(other("B", 12, scheme="meet"))],
            9,
        )

    case()


@pytest.mark.parametrize("examples", soaked([2, 60], 1))
def test_groups_with_fluid_members(threaded, examples):
    @settings(some_cases, max_examples=examples)
    @given(st.data())
    def case(data):
        kinds = [data.draw(st.sampled_from([fluid_domains, domains])) for _ in "BC"]
        chosen = [
            data.draw(kind(n, 8, scheme=data.draw(st.sampled_from([*SCHEMES, "meet"]))))
            for kind, n in zip([fluid_domains, *kinds], "ABC", strict=True)
        ]
        check(data, threaded, chosen, 9, 3)

    case()
