"""Checks the resource manager: its settings, and what its adapter finds."""

from __future__ import annotations

from functools import partial

from cosched.doctor.service import Running, slots_on_record
from cosched.installation.extras import SCHEDULER, install_command, missing
from cosched.service.configuration import Configuration
from cosched_adapters.findings import Finding, ok, problem, section
from cosched_adapters.launcher import lacking
from cosched_adapters.loading import load_manager
from cosched_adapters.manager import SettingError


async def check_manager(configuration: Configuration, service: Running) -> list[Finding]:
    """Check the resource manager."""
    manager, state = configuration.manager, configuration.domain.state
    directory = state.with_name(f"{state.name}.{manager.kind}")
    try:
        if not manager.schedules and (packages := missing(SCHEDULER)):
            found = f"{', '.join(packages)}: not installed"
            return [problem("embedded scheduler", found, "install them", "shell", install_command(SCHEDULER))]
        made = load_manager(manager.kind)(configuration.domain.name, directory, manager.of_adapter())
    except SettingError as error:
        return [problem(error.key, error.problem, "correct it", section("manager"))]
    if (lacks := lacking(made, manager.scheduler_kind.capabilities.needs())) is not None:
        return [problem("scheduler", f"{manager.kind} {lacks}", "give scheduler=batch", section("manager"))]
    settings = ok("settings", f"nothing is wrong with those of the {manager.kind} manager")
    slots = partial(slots_on_record, configuration.domain) if service.domain else dict[str, int]
    return await made.examine(service.account, serving=service.domain is not None, slots=slots) or [settings]
