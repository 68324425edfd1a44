"""Questions that a simulation leaves out change nothing where a domain has a scheduler of a paper."""

import pytest

from cosched_sim.flags import replay_settings
from cosched_sim.playing import Run
from cosched_sim.questions import Questions
from cosched_sim.replaying import Replay, setup_of
from tests.sim.noting import noting


@pytest.mark.parametrize("kind", ["fluid", "molding"])
def test_leaving_them_out_changes_nothing(monkeypatch, kind):
    domains = [
        "a,trace=generated:intrepid/jobs=300,scheme=yield",
        f"b,trace=generated:eureka/jobs=150,scheme=yield,scheduler={kind}",
    ]
    replay = Replay(replay_settings(domains, None, seed=1, pair_fraction="0.3"))
    left_out = noting(monkeypatch)
    found = told(replay)
    assert sum(left_out) > 20
    monkeypatch.setattr(Questions, "in_vain", lambda *_: False)
    assert told(replay) == found


def told(replay: Replay) -> str:
    setups = [setup_of(*each) for each in zip(replay.settings(), replay.workloads, replay.nodes, strict=True)]
    run = Run(setups, replay.pairing)
    run.run()
    results = [run.told(setup) for setup in setups]
    return repr(
        [
            ({name: column.tolist() for name, column in of.jobs.items()}, of.counts, of.holds, of.yields)
            for of in results
        ]
    )
