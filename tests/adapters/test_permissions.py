"""What users may do with files."""

import os
from pathlib import Path

import pytest

from cosched_adapters.permissions import EVERYBODY, EXECUTE, READ, WRITE, Account, opening


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "file"


def made(file: Path, mode: int) -> Path:
    file.touch()
    file.chmod(mode)
    return file


def test_root_may_do_all_but_run_what_nobody_may_run(file):
    root = Account.of(0)
    assert root.may(made(file, 0o000), READ | WRITE)
    assert not root.may(file, EXECUTE)
    assert root.may(made(file, 0o001), EXECUTE)
    assert root.may(file.parent, EXECUTE)


def test_the_first_of_owner_group_and_others_counts():
    about = os.stat_result((0o640, 0, 0, 1, 7, 99, 0, 0, 0, 0))
    owner, member = Account(7, "o", frozenset({99})), Account(5, "m", frozenset({99}))
    assert owner.may_with(about, READ | WRITE)
    assert member.may_with(about, READ)
    assert not member.may_with(about, WRITE)
    assert not EVERYBODY.may_with(about, READ)


def test_what_is_not_there_or_behind_a_closed_door_cannot_be_used(tmp_path):
    assert not Account.of(os.geteuid()).may(tmp_path / "none", READ)
    tmp_path.chmod(0o700)
    assert not EVERYBODY.may(made(tmp_path / "file", 0o777), READ)


def test_a_barrier_is_the_first_place_that_is_closed(tmp_path):
    (tmp_path / "in").mkdir()
    path = made(tmp_path / "in" / "file", 0o600)
    open_as_far_as_it_goes = EVERYBODY.barrier(path, READ)
    assert open_as_far_as_it_goes is not None
    assert open_as_far_as_it_goes.is_dir()
    assert opening(open_as_far_as_it_goes, "644") == f"chmod a+x {open_as_far_as_it_goes}"
    assert opening(path, "644") == f"chmod 644 {path}"


def test_an_account_has_its_name_and_groups():
    account = Account.of(os.geteuid())
    assert os.getegid() in account.groups
    assert Account.of(4_000_000_001).name == "uid 4000000001"
