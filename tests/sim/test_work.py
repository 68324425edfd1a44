"""How much Python a replay runs for each job with a mate: calls, which are the same on every machine."""

import sys
from types import FrameType

import pytest

from cosched_sim.engine import Engine
from cosched_sim.workload.generate import generate
from cosched_sim.workload.pairing import pairs_by_fraction
from tests.bench.bench import COMBINATIONS, EUREKA, INTREPID, setup

MOST = {"none": 65, "HH": 1500, "YY": 425, "MM": 1130}  # calls for a job, by the two schemes


def calls(engine: Engine) -> int:
    """Run it, and return how many calls of our Python functions that took."""
    count = 0

    def see(frame: FrameType, event: str, _: object) -> None:
        nonlocal count
        count += event == "call" and frame.f_globals.get("__name__", "").startswith("cosched")

    before = sys.getprofile()
    sys.setprofile(see)
    try:
        engine.run()
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("schemes", MOST)
def test_a_replay_does_no_more_for_a_job_than_it_did(schemes):
    works = generate("intrepid", jobs=600, seed=1), generate("eureka", jobs=150, seed=1)
    machines = zip(("intrepid", "eureka"), works, (INTREPID, EUREKA), COMBINATIONS[schemes].split(), strict=True)
    setups = [setup(name, work, nodes, "wfp", scheme) for name, work, nodes, scheme in machines]
    pairing = pairs_by_fraction(works, "0.2", 1)
    assert calls(Engine(setups, pairing)) / (2 * len(pairing)) <= MOST[schemes]
