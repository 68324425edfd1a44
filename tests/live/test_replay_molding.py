"""Live replays in lock-step equal the simulation where the sizes of jobs are chosen at their start (molding.md)."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosched.sim.configuration import Domain
from tests.live.replays import Loop, ThreadedReplay
from tests.live.test_replay_small import UNITS, check, domains, some_cases, workload
from tests.tiers import soaked

SCHEMES = ("hold", "yield", "off")
SIZINGS = ("scojo_p", "scojo", "cirne_berman", "none")


@pytest.fixture(scope="module")
def threaded():
    class Here(ThreadedReplay):
        loop = Loop()

    yield Here
    Here.loop.close()


@st.composite
def molded_domains(draw, name: str, jobs: int, **fixed: object) -> Domain:
    """A domain whose jobs are molded, with settings of all kinds but those `fixed`."""
    sizing = draw(st.sampled_from(SIZINGS))
    choices = {
        "moldable_share": st.sampled_from(["0.5", "1"]),
        **({"ideal_load": st.sampled_from(["0.9", "0.7"])} if sizing == "scojo_p" else {}),
        "release_interval": st.sampled_from([0, 7, 20]),
        "release_jitter": st.sampled_from(["0", "0.25"]),
        "max_held_fraction": st.sampled_from(["0.3", "1"]),
        "mate_patience": st.sampled_from([None, 5]),
    }
    chosen = {key: draw(strategy) for key, strategy in choices.items() if key not in fixed}
    work = workload(name, draw(st.binary(min_size=4 * (jobs // 2), max_size=4 * jobs)))
    return Domain(name=name, trace=work, nodes=UNITS, scheduler="molding", sizing=sizing, **chosen, **fixed)


@pytest.mark.parametrize("examples", soaked([4, 100], 1))
def test_a_molding_domain_and_a_batch_domain(threaded, examples):
    @settings(some_cases, max_examples=examples)
    @given(st.data())
    def case(data):
        here, there = (data.draw(st.sampled_from(SCHEMES)) for _ in range(2))
        check(
            data,
            threaded,
            [data.draw(molded_domains("A", 12, scheme=here)), data.draw(domains("B", 12, scheme=there))],
            9,
        )

    case()


@pytest.mark.parametrize("examples", soaked([3, 100], 1))
def test_two_molding_domains(threaded, examples):
    @settings(some_cases, max_examples=examples)
    @given(st.data())
    def case(data):
        check(
            data,
            threaded,
            [data.draw(molded_domains(n, 12, scheme=data.draw(st.sampled_from(SCHEMES)))) for n in "AB"],
            9,
        )

    case()
