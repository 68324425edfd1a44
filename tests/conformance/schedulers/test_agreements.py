"""Live domains agree on a slot, and one dies at any step of that and of the start."""

from __future__ import annotations

import itertools

import pytest

from tests.conformance.schedulers.histories import agreeing, apart, die_at, run, spread, started_by
from tests.conformance.schedulers.worlds import WORLDS
from tests.service.offered_world import SlurmNode
from tests.service.world import Faults
from tests.tiers import soaked

# A kind of scheduler, the domains, and which one dies: all, and those of the short tier.
ALL = [
    (kind, *deaths)
    for kind in ("batch", "fluid", "external")
    for deaths in (("ab", "a"), ("ab", "b"), ("abc", "a"), ("abc", "b"), ("abc", "c"))
]
FIRST = {
    ("batch", "ab", "a"), ("fluid", "ab", "b"), ("external", "abc", "a"), ("batch", "abc", "c"), ("fluid", "abc", "b"),
}  # fmt: skip


@pytest.fixture(autouse=True)
def _patient_hooks(monkeypatch):
    monkeypatch.setattr(SlurmNode, "hook_patience", 1000)


@pytest.mark.parametrize("every", soaked([29, 1], 1))
@pytest.mark.parametrize("runs", soaked([105, 112, 40], 1))  # in time, past its request, early
@pytest.mark.parametrize("case", soaked(sorted(ALL, key=lambda case: case not in FIRST), len(FIRST)), ids=" ".join)
def test_a_domain_dies_at_each_step(tmp_path, case, runs, every):
    """At its n-th step; n rises by `every` up to the last one. All start by one proposal."""
    kind, domains, dies = case
    for step in itertools.count(1, every):
        (folder := tmp_path / str(step)).mkdir()
        made = agreeing(folder, WORLDS[kind], step, runs, domains, Faults(outage=7))
        done = die_at(made.nodes[dies], step)
        run(made, until=3000)
        assert apart(made) == [], step
        assert spread(made) <= made.faults.outage, step
        assert len(set.union(*started_by(made))) == 1, step
        made.close()
        if done() < step:
            assert made.slots  # nobody died
            return


@pytest.mark.parametrize(
    ("runs", "first", "last"), [(40, 1071, 1078), (105, 1106, 1108), (112, 1113, 1118)], ids=["early", "due", "late"]
)
def test_a_pair_starts_at_its_slot_or_as_soon_as_nodes_are_free(tmp_path, runs, first, last):
    """Of a batch system: nodes that are free at 1041 go to job 3 at once, which would end before the slot."""
    made = agreeing(tmp_path, WORLDS["external"], 1, runs, "ab", Faults())
    run(made, until=3000)
    made.close()
    one, other = (node.started_at["1"] for node in made.nodes.values())
    assert first <= one == other <= last
