"""Two real Slurm clusters whose hooks' sockets anybody floods: every pair starts together, and as soon as without."""

from contextlib import ExitStack

import pytest

from tests.live.attacks import under_attack
from tests.live.other_users import needs_root
from tests.live.workloads import contended
from tests.slurm.coupled import Coupled
from tests.slurm.laboratory import laboratory

pytestmark = [pytest.mark.soak, needs_root]
SEED, PAIRS, ALONE, NODES = 20111120, 12, 6, 8
SETTINGS = {"release_interval": 3, "max_held_fraction": 0.75, "backoff": 1, "try_patience": 1.2}
running, coupled = laboratory(for_others=True, strict=False, services=False, options={"nodes": NODES}, **SETTINGS)


@pytest.mark.parametrize("kinds", [("flood", "flood"), ("garbage", "flood")], ids="-".join)
def test_pairs_start_together_while_nobody_floods_the_hooks_sockets(coupled: Coupled, kinds: tuple[str, ...]) -> None:
    coupled.lab.restart(("hold", "yield"))
    with ExitStack() as attacks:
        for domain in coupled.lab:
            for kind in kinds:
                attacks.enter_context(under_attack(kind, f"unix:{domain.hooks.socket}", user="nobody"))
        outcome = coupled.run(contended(SEED, PAIRS, ALONE))
        trips = [peer["round_trip"] for domain in coupled.lab for peer in domain.service.ask("domains")["peers"]]
    assert set(outcome.runs.values()) == {1}
    assert outcome.states == {"completed": 2 * PAIRS}
    assert outcome.alone() == {}
    for domain in coupled.lab:
        log = domain.service.log.read_text()
        assert "connects too often" in log
        assert "Traceback" not in log
        assert domain.hooks.messages() == []
    print(f"{kinds}: starts at most {1000 * max(outcome.skews()):.0f} ms apart, calls of peers take {trips} s")
