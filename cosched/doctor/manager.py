"""Checks the resource manager: its settings, and what its adapter finds."""

from __future__ import annotations

from cosched.adapters.findings import Finding, ok, problem, section
from cosched.adapters.loading import load_manager
from cosched.adapters.manager import SettingError
from cosched.adapters.permissions import Account
from cosched.extras import SCHEDULER, install_command, missing
from cosched.service.configuration import Configuration


async def check_manager(configuration: Configuration, account: Account, *, serving: bool) -> list[Finding]:
    """Check the resource manager. `account`: the service's user; `serving`: whether the service runs."""
    manager, state = configuration.manager, configuration.domain.state
    directory = state.with_name(f"{state.name}.{manager.kind}")
    try:
        if not manager.schedules and (packages := missing(SCHEDULER)):
            found = f"{', '.join(packages)}: not installed"
            return [problem("embedded scheduler", found, "install them", "shell", install_command(SCHEDULER))]
        made = load_manager(manager.kind)(configuration.domain.name, directory, manager.settings)
    except SettingError as error:
        return [problem(error.key, error.problem, "correct it", section("manager"))]
    settings = ok("settings", f"nothing is wrong with those of the {manager.kind} manager")
    return await made.examine(account, serving=serving) or [settings]
