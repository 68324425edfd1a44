"""Adapters by name, and the settings of the local one."""

import inspect
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from cosched_adapters.launcher import Launcher
from cosched_adapters.loading import load_manager
from cosched_adapters.local.manager import LocalManager, create
from cosched_adapters.local.process import PROGRAM
from cosched_adapters.manager import SettingError


def test_local_is_found_by_name() -> None:
    assert load_manager("local") is create


def test_local_has_all_operations(tmp_path: Path) -> None:
    manager: Launcher = create("a", tmp_path, {"slots": 3})
    assert manager.nodes == 3
    for name, operation in inspect.getmembers(Launcher, inspect.isfunction):
        if not name.startswith("_"):
            assert inspect.signature(operation).parameters == inspect.signature(getattr(LocalManager, name)).parameters


def test_unknown_kind() -> None:
    with pytest.raises(
        SettingError, match=r"no adapter is named 'lokal'; did you mean local\? \(installed: .*local.*\)"
    ):
        load_manager("lokal")


@pytest.mark.parametrize(
    "target",
    ["no.such.module:create", "cosched_adapters.manager:NoSuchThing", "cosched_adapters.local.settings:MAX_SLOTS"],
)
def test_broken_adapter(monkeypatch: pytest.MonkeyPatch, target: str) -> None:
    entry = EntryPoint("site", target, "cosched_adapters")
    monkeypatch.setattr("cosched_adapters.loading._installed", lambda _: {entry.name: entry})
    with pytest.raises(SettingError, match="kind: the adapter 'site'"):
        load_manager("site")


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        ({}, "slots"), ({"slots": 0}, "slots"), ({"slots": True}, "slots"), ({"slots": "8"}, "slots"),
        ({"slots": 8, "grace": -1}, "grace"), ({"slots": 8, "grace": float("nan")}, "grace"),
        ({"slots": 8, "spool": ""}, "spool"), ({"slots": 8, "spool": 3}, "spool"),
        ({"slots": 8, "colour": "blue"}, "colour"),
    ],
)  # fmt: skip
def test_bad_settings(tmp_path: Path, settings: dict[str, object], key: str) -> None:
    with pytest.raises(SettingError) as caught:
        create("a", tmp_path, settings)
    assert caught.value.key == key


def test_spool_may_be_elsewhere(tmp_path: Path) -> None:
    assert create("a", tmp_path, {"slots": 1}).settings.spool == tmp_path / "jobs"
    assert create("a", tmp_path, {"slots": 1, "spool": "/var/spool/x"}).settings.spool == Path("/var/spool/x")


def test_supervisor_imports_little() -> None:
    """It must stay small and start fast: nothing of asyncio, dataclasses, typing, subprocess."""
    folders = [str(parent) for parent in Path(PROGRAM).parents[2:4]]
    code = f"import sys; sys.path += {folders}; import cosched_adapters.local.forkserver; print(*sys.modules)"
    command = [sys.executable, "-I", "-S", "-E", "-c", code]
    modules = set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())
    heavy = {"asyncio", "dataclasses", "typing", "subprocess", "inspect", "pathlib", "logging", "threading"}
    assert not modules & heavy
