"""A federation of many services: no group is lost, and each starts as one."""

import pytest

from tests.bench.live_federation import run
from tests.tiers import SEED


@pytest.mark.soak  # groups of three services remain
def test_two_thousand_groups_among_twenty_services_start_together(tmp_path):
    figures = run(tmp_path, 20, 2000, seed=SEED, forked=True)
    assert figures.faults == []
    assert figures.lost() == []
    assert len(figures.members) == sum(map(len, figures.groups.values()))
    assert len(figures.clocks) == 20 * 19  # each has compared its clock with that of every other
