"""Two real PBS clusters whose hooks' sockets others try to flood: they cannot connect, and pairs start together."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from tests.live.attacks import under_attack
from tests.live.coupled_labs import Coupled
from tests.live.workloads import contended
from tests.pbs.laboratory import laboratory

pytestmark = pytest.mark.soak
SEED, PAIRS, ALONE, NODES = 20111120, 12, 6, 4


running, coupled = laboratory(("pbs", "pbs"), nodes=NODES, release_interval=3, max_held_fraction=0.75)


def test_pairs_start_together_while_nobody_floods_the_hooks_sockets(coupled: Coupled) -> None:
    coupled.lab.serve(("hold", "yield"))
    with ExitStack() as attacks:
        for domain in coupled.lab:
            socket = domain.manager()["hook_socket"]
            for kind in ("flood", "garbage"):
                attacks.enter_context(under_attack(kind, f"unix:{socket}", user="nobody"))
        outcome = coupled.run(contended(SEED, PAIRS, ALONE, most_nodes=2))
    assert set(outcome.runs.values()) == {1}
    assert len(outcome.runs) == 2 * (PAIRS + ALONE)
    assert outcome.alone() == {}
    print(f"starts at most {1000 * max(outcome.skews()):.0f} ms apart")
