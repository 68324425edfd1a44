"""What a live domain does with all that its core can want done."""

from pathlib import Path
from typing import get_args

from cosched.core.domain import Change
from cosched.core.outcome import ORDERS
from cosched.core.settings import CoschedulingSettings
from tests.service.world import Faults, World


def test_something_follows_from_each_kind_of_change_and_order(tmp_path: Path) -> None:
    world = World(tmp_path, 1, dict.fromkeys("ab", CoschedulingSettings()), Faults())
    assert world.nodes["a"].domain.decisions._table().keys() == {*get_args(Change), *ORDERS}
