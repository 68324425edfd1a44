"""The names that Slurm's short lists of nodes stand for."""

import pytest

from cosched_adapters.manager import ManagerError
from cosched_adapters.slurm.hostlists import expand


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", []),
        ("(null)", []),
        ("n1", ["n1"]),
        ("n[4-5]", ["n4", "n5"]),
        ("n[08-10,2],login-1", ["n08", "n09", "n10", "n2", "login-1"]),
        ("r[1-2]n[1,3]x", ["r1n1x", "r1n3x", "r2n1x", "r2n3x"]),
    ],
)
def test_a_list_is_expanded(text: str, names: list[str]) -> None:
    assert expand(text) == names


@pytest.mark.parametrize("text", ["n[", "n[]", "n[1-]", "n[3-1]", "n[a-b]", "a,,b", "a,", "n[1-9999999]", "]n"])
def test_what_is_no_list_of_nodes_is_refused(text: str) -> None:
    with pytest.raises(ManagerError, match="not a list of nodes"):
        expand(text)
