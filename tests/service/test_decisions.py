"""What a live domain does with all that its core can want done."""

from pathlib import Path
from typing import get_args

from cosched.core.domain import Change
from cosched.core.outcome import ORDERS
from tests.service.world import domain_a


def test_something_follows_from_each_kind_of_change_and_order(tmp_path: Path) -> None:
    assert domain_a(tmp_path).domain.decisions._table().keys() == {*get_args(Change), *ORDERS}
