"""A domain that fails at any effect of a turn has written nothing of the turn, and goes on from before it."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cosched.core.job import JobState
from cosched.core.settings import CoschedulingSettings, Scheme
from cosched.service.domain.decisions import Decisions
from cosched.service.domain.live_domain import LiveDomain
from tests.service.outside import Killed
from tests.service.world import World, domain_a


class Breaking:
    """Fails at one effect: counted from 0, over all turns of all domains."""

    def __init__(self, patch: pytest.MonkeyPatch, world: World, at: int) -> None:
        self.world, self.at, self.effects = world, at, 0
        self._written: dict[int, int] = {}
        do, begin, add = Decisions.do, Decisions.begin, LiveDomain.add
        patch.setattr(Decisions, "do", lambda decisions, changes: do(decisions, self._each(decisions, changes)))
        patch.setattr(Decisions, "begin", lambda decisions: self._begin(begin, decisions))
        patch.setattr(LiveDomain, "add", lambda domain, *job: self._add(add, domain, *job))

    def _begin(self, begin: Callable[[Decisions], None], decisions: Decisions) -> None:
        self._written[id(decisions)] = self._rows(decisions)
        begin(decisions)

    def _add(self, add: Callable[..., None], domain: LiveDomain, *job: object) -> None:
        """A submission is on record by itself, before anything is decided about it."""
        add(domain, *job)
        self._written[id(domain.decisions)] = self._rows(domain.decisions)

    def _each(self, decisions: Decisions, changes: Iterable[Any]) -> Iterator[Any]:
        for change in changes:
            self.effects += 1
            if self.effects - 1 == self.at:
                assert self._rows(decisions) == self._written[id(decisions)], "half a turn is on record"
                raise Killed
            yield change

    def _rows(self, decisions: Decisions) -> int:
        """How many rows this life of the domain has changed."""
        [node] = [each for each in self.world.nodes.values() if each.domain and each.domain.decisions is decisions]
        assert not node.store._connection.in_transaction
        return node.store._connection.total_changes


def play(folder: Path, patch: pytest.MonkeyPatch, at: int, scheme: Scheme) -> int:
    """Start a pair whose jobs come a while apart; return how many effects that takes."""
    folder.mkdir()
    world = domain_a(folder, CoschedulingSettings(scheme=scheme, peer_grace=300)).world
    with patch.context() as patched:
        breaking = Breaking(patched, world, at)
        world.nodes["b"].expected.add("1")
        world.nodes["a"].submit(1, 4, 100, "p")
        world.at(world.now + 100, lambda: world.nodes["b"].submit(1, 4, 100, "p"))
        world.run(until=20_000)
    for node in world.nodes.values():
        assert node.starts["1"] == 1
        assert node.store.job(1).state is JobState.COMPLETED
    started = [node.started_at["1"] for node in world.nodes.values()]
    assert max(started) - min(started) <= (0 if breaking.effects <= at else world.faults.outage)
    return breaking.effects


@pytest.mark.parametrize("scheme", [Scheme.HOLD, pytest.param(Scheme.YIELD, marks=pytest.mark.soak)])
def test_nothing_of_a_turn_is_on_record_that_fails_at_any_effect(tmp_path, monkeypatch, scheme):
    effects = play(tmp_path / "whole", monkeypatch, 10**9, scheme)
    assert effects > 15
    for at in range(effects):
        play(tmp_path / str(at), monkeypatch, at, scheme)
