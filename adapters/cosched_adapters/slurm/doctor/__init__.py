"""Examines a cluster for `cosched doctor`: those parts of Slurm's set-up that coscheduling depends on."""

from __future__ import annotations

import shlex
from dataclasses import replace

from cosched_adapters.findings import Finding, guarded, ok, problem, section, unchecked
from cosched_adapters.manager import ManagerError, SlotsOnRecord
from cosched_adapters.own.checks import check_gates
from cosched_adapters.permissions import Account
from cosched_adapters.slurm.calls import Slurm
from cosched_adapters.slurm.commands import parse_user
from cosched_adapters.slurm.controllers import is_here
from cosched_adapters.slurm.doctor.facts import Facts
from cosched_adapters.slurm.doctor.gate import gate_script
from cosched_adapters.slurm.doctor.installed import check_hooks
from cosched_adapters.slurm.doctor.place import check_commands, check_controllers, check_user
from cosched_adapters.slurm.doctor.reading import check_reading
from cosched_adapters.slurm.doctor.reservations import check_reservations, left_over
from cosched_adapters.slurm.doctor.tries import check_tries
from cosched_adapters.slurm.doctor.turns import check_age, check_turns
from cosched_adapters.slurm.parameters import text
from cosched_adapters.slurm.settings import SlurmSettings

__all__ = ["Facts", "examine", "judge"]


async def examine(
    settings: SlurmSettings, service: Account, *, serving: bool, slots: SlotsOnRecord = dict
) -> list[Finding]:
    """See `adapters.manager.Manager`."""
    commands = check_commands(settings)
    try:
        facts = await _facts(settings, service, serving=serving)
    except ManagerError as error:
        start = "start it, or name the slurm.conf of its cluster"
        line = 'conf = "/etc/slurm/slurm.conf"'
        return [commands, problem("slurmctld", f"does not answer: {error}", start, section("manager"), line)]
    if settings.gates is not None:
        return [commands, *_of_a_user(facts)]
    try:
        reservations = check_reservations(await left_over(Slurm(settings), slots), serving=serving)
    except Exception as error:
        reservations = unchecked("reservations", error)
    return [commands, *judge(facts), reservations]


async def _facts(settings: SlurmSettings, service: Account, *, serving: bool) -> Facts:
    slurm = Slurm(settings)
    config = await slurm.config()
    addresses = await slurm.addresses() if gate_script(config) else []
    elsewhere = next((address for address in addresses if not is_here(address)), None)
    return Facts(config, settings, service, Account.of(parse_user(config.get("SlurmUser", ""))), serving, elsewhere)


def _of_a_user(facts: Facts) -> list[Finding]:
    """Return the findings of a user's own service, which needs neither hooks nor reservations."""
    gates = facts.settings.gates
    try_it = f"srun -N1 -t1 test -w {shlex.quote(str(gates))} && echo well"
    requeue = "jobs can yield: cosched submit asks for --requeue, which JobRequeue=0 permits, too"
    age = guarded("PriorityType", check_age, facts.config, facts.settings)
    return [_answers(facts), *guarded("gates", check_gates, gates, try_it), ok("requeue", requeue), *age]


def _answers(facts: Facts) -> Finding:
    version, name = text(facts.config, "SLURM_VERSION"), text(facts.config, "ClusterName")
    found = f"Slurm {version or 'of unknown version'} answers for the cluster {name or 'without a name'}"
    return ok("slurmctld", found)


def judge(facts: Facts) -> list[Finding]:
    """Return the findings about a cluster that answers."""
    found = [
        _answers(facts),
        *guarded("SlurmctldHost", check_controllers, facts.config),
        *guarded("SlurmUser", check_user, facts.service, facts.slurm_user),
        *guarded("slurm.conf", check_reading, facts.config),
        *guarded("hooks", check_hooks, facts),
        *guarded("SchedulerParameters", check_tries, facts.config, facts.settings),
        *guarded("JobRequeue", check_turns, facts.config, facts.settings),
    ]
    conf = text(facts.config, "SLURM_CONF")  # the one that is in use
    return [replace(each, file=conf) if conf and each.file == "slurm.conf" else each for each in found]
