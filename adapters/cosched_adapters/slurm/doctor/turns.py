"""Checks of the parameters that holds and requeues depend on, and of the cost of a requeue."""

from __future__ import annotations

import math
from collections.abc import Iterator

from cosched_adapters.findings import Finding, ok, problem, section, warning
from cosched_adapters.slurm.parameters import Config, number, text, words
from cosched_adapters.slurm.settings import SlurmSettings

_CONF = "slurm.conf"
_SHOWN_AGE = 300  # seconds, Slurm's default of MinJobAge


def check_turns(config: Config, settings: SlurmSettings) -> Iterator[Finding]:
    """Check that a job can hold its nodes and yield."""
    yield check_requeue(config)
    yield check_timeout(config)
    yield check_plugin(config)
    yield check_prolog_flags(config)
    yield check_priority(config)
    yield check_age(config, settings)


def check_requeue(config: Config) -> Finding:
    """Check that jobs can be requeued: that is how a job yields."""
    if number(config, "JobRequeue") == 0:
        found = "0: jobs can only hold; they can neither yield nor be released by force"
        return problem("JobRequeue", found, "let batch jobs be requeued", _CONF, "JobRequeue=1")
    return ok("JobRequeue", "1: batch jobs can yield")


def check_timeout(config: Config) -> Finding:
    """Check that Slurm does not kill hooks that hold. Newer versions call the parameter PrologTimeout."""
    for key in ("PrologEpilogTimeout", "PrologTimeout"):
        if limit := number(config, key):
            found = f"{limit:g} s: Slurm kills the hook of a job that holds for longer, and requeues it"
            return problem(key, found, f"remove {key} from slurm.conf", _CONF, f"#{key}={limit:g}")
    return ok("PrologEpilogTimeout", "not set: a job can hold as long as it likes")


def check_plugin(config: Config) -> Finding:
    """Check the plugin that calls PrologSlurmctld. It is there by default."""
    plugins = words(config, "PrEpPlugins")
    if plugins and "prep/script" not in plugins:
        found = f"{','.join(plugins)}: Slurm calls no PrologSlurmctld"
        line = f"PrEpPlugins={','.join(plugins)},prep/script"
        return problem("PrEpPlugins", found, "let it call scripts", _CONF, line)
    return ok("PrEpPlugins", "prep/script: Slurm calls PrologSlurmctld")


def check_prolog_flags(config: Config) -> Finding:
    """Explain PrologFlags. None conflicts with a hold: nodes' prologs run after it, with Alloc or Contain too."""
    flags = text(config, "PrologFlags") or "none"
    if prologs := text(config, "Prolog"):
        late = f"Prolog {prologs} runs on the nodes after the hold: its time adds to the skew of a pair"
        return ok("PrologFlags", f"{flags}; {late}")
    return ok("PrologFlags", f"{flags}: none prevents a hold")


def check_priority(config: Config) -> Finding:
    """Check the cost of a yield: a requeue resets AccrueTime, from which priority/multifactor counts a job's age."""
    kind, weight = text(config, "PriorityType") or "priority/basic", number(config, "PriorityWeightAge")
    if kind != "priority/multifactor":
        return ok("PriorityType", f"{kind}: a job that yields keeps its priority")
    if weight == 0:
        return ok("PriorityType", f"{kind}, PriorityWeightAge=0: a job that yields keeps its priority")
    found = f"{kind}: each time that a job yields, or is released by force, its age begins at zero"
    change = "hold instead of yielding, or limit the yields of a job"
    return warning("PriorityType", found, change, section("coscheduling"), "max_yields = 3")


def check_age(config: Config, settings: SlurmSettings) -> Finding:
    """Check how long ended jobs stay known, to peers and to a service that was away."""
    age = number(config, "MinJobAge")
    least = 2 * settings.poll_interval
    if not age or age >= least:
        return ok("MinJobAge", f"{age:g} s: an ended job is known for so long" if age else "0: ended jobs stay known")
    twice = f"before the service has looked twice (each {settings.poll_interval:g} s)"
    found = f"{age:g} s: an ended job is forgotten {twice}: if a hook's message is lost, its end stays unknown"
    return warning("MinJobAge", found, "keep them longer", _CONF, f"MinJobAge={max(_SHOWN_AGE, math.ceil(least))}")
