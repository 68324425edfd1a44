"""What is taken to be so for which version of Slurm."""

import pytest

from cosched_adapters.slurm.versions import (
    kills_hooks,
    requeue_delay,
    restarts_on_reconfigure,
    shows_exclusive,
    version_of,
)


@pytest.mark.parametrize(
    ("shown", "version"),
    [("22.05.8", (22, 5, 8)), ("26.05.0-0rc1", (26, 5, 0)), ("25.11", (25, 11, 0)), ("", None), ("(null)", None)],
)
def test_the_version(shown: str, version: tuple[int, int, int] | None) -> None:
    assert version_of({"SLURM_VERSION": shown}) == version


@pytest.mark.parametrize(
    ("version", "auth_info", "parameters", "delay"),
    [
        ("22.05.8", "(null)", "bf_interval=1", 121),
        ("22.05.8", "cred_expire=30", "", 31),
        ("22.05.8", "socket=/run/munge,cred_expire=30", "", 31),
        ("22.05.8", "cred_expire=4", "", 121),  # too short: Slurm takes its default
        ("24.05.8", "", "requeue_delay=20", 121),  # unknown there
        ("25.11.0", "", "bf_interval=1,requeue_delay=20", 21),
        ("26.05.3", "cred_expire=30", "requeue_delay=0", 1),
        ("26.05.3", "cred_expire=30", "", 31),
        ("", "", "", 121),
    ],
)
def test_how_long_slurm_keeps_a_requeued_job_back(version: str, auth_info: str, parameters: str, delay: int) -> None:
    config = {"SLURM_VERSION": version, "AuthInfo": auth_info, "SchedulerParameters": parameters}
    assert requeue_delay(config) == delay


@pytest.mark.parametrize(
    ("version", "kills", "anew"),
    [
        ("22.05.8", False, False), ("23.02.7", False, False), ("23.11.0", False, True), ("24.05.8", False, True),
        ("24.11.7", False, True), ("25.05.6", False, True), ("25.05.7", True, True), ("25.11.3", False, True),
        ("25.11.4", True, True), ("26.05.0", True, True), ("27.11.1", True, True), ("", False, False),
    ],
)  # fmt: skip
def test_what_a_restart_or_a_reconfiguration_does_to_hooks(version: str, kills: bool, anew: bool) -> None:
    config = {"SLURM_VERSION": version}
    assert (kills_hooks(config), restarts_on_reconfigure(config)) == (kills, anew)


@pytest.mark.parametrize(("version", "shows"), [("22.05.8", False), ("25.11.7", False), ("26.05.0", True), ("", False)])
def test_in_which_field_squeue_shows_whether_a_job_shares_nodes(version: str, shows: bool) -> None:
    assert shows_exclusive({"SLURM_VERSION": version}) == shows
