"""The Slurm manager's settings."""

from pathlib import Path

import pytest

from cosched_adapters.manager import SettingError
from cosched_adapters.slurm.settings import SlurmSettings, read_settings


def test_everything_has_a_default(tmp_path: Path) -> None:
    settings = read_settings(tmp_path, {})
    assert settings == SlurmSettings(hook_socket=tmp_path / "hooks.sock")
    assert (settings.backoff, settings.try_patience, settings.poll_interval) == (30.0, 2.5, 30.0)
    assert settings.command_timeout == 15.0  # seconds: thrice what was once not enough, with 3,000 pending jobs


def test_what_is_given_counts(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text("")
    (tmp_path / "squeue").touch(mode=0o755)
    given = {"conf": "slurm.conf", "bin": str(tmp_path), "hook_socket": "/run/cosched/hooks.sock", "backoff": 60}
    settings = read_settings(tmp_path, given)
    assert settings == SlurmSettings(
        hook_socket=Path("/run/cosched/hooks.sock"), conf=tmp_path / "slurm.conf", bin=tmp_path, backoff=60.0
    )
    assert read_settings(tmp_path, {"waiting_folder": "waiting"}).waiting_folder == tmp_path / "waiting"
    assert read_settings(tmp_path, {"gate_folder": "/shared/gates"}).gate_folder == Path("/shared/gates")
    far = tmp_path / ("x" * 100)  # where no socket could be, nor needs to be beside gates
    assert read_settings(far, {"gates": "gates"}).gates == far / "gates"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("slots", 8), ("backoff", 0), ("backoff", "30"), ("backoff", True), ("try_patience", 61),
        ("poll_interval", float("nan")), ("command_timeout", -1), ("gate_lead", 11), ("conf", "missing.conf"),
        ("conf", 5), ("bin", "nowhere"), ("hook_socket", ""), ("hook_socket", "a\0b"), ("hook_socket", "x" * 104),
        ("waiting_folder", ""), ("waiting_folder", 5), ("gate_folder", "gates"), ("gate_folder", ""),
        ("gate_folder", True), ("gate_folder", "/a\0b"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_refused_by_its_name(tmp_path: Path, key: str, value: object) -> None:
    with pytest.raises(SettingError, match=f"^{key}: "):
        read_settings(tmp_path, {key: value})


CONFIGURATION = """
[domain]
name = "intrepid"
listen = "127.0.0.1:0"
plaintext = true
state = "state.db"

[manager]
kind = "slurm"
gate_lead = 0.3
gate_folder = "/nowhere/gates"
"""


def test_a_service_whose_folder_is_missing_says_so_in_one_line_and_ends(cosched, tmp_path: Path) -> None:
    (tmp_path / "domain.toml").write_text(CONFIGURATION)
    said = cosched("serve", "--config", "domain.toml", exit_code=2).stderr
    reason = "/nowhere/gates must be a folder in which files can be written: No such file or directory"
    assert said.splitlines()[1:] == [f"cosched: domain.toml:manager.gate_folder: {reason}"]  # after that it starts
