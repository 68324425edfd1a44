"""Checks of the hooks that slurm.conf names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from cosched_adapters.findings import Finding, guarded, ok, problem, warning
from cosched_adapters.slurm.doctor import scripts
from cosched_adapters.slurm.doctor.facts import Facts
from cosched_adapters.slurm.doctor.folder import check_folder, check_socket, check_waiting_folder
from cosched_adapters.slurm.doctor.gate import check_gate
from cosched_adapters.slurm.doctor.scripts import GATE, JOBCOMP, PROLOG, check_script, is_gone, script_of
from cosched_adapters.slurm.parameters import Config, text, texts, words
from cosched_adapters.slurm.versions import restarts_on_reconfigure

_CONF = "slurm.conf"
_COMPLETIONS = "jobcomp/script"


def check_hooks(facts: Facts) -> Iterator[Finding]:
    """Check all hooks."""
    folders = hook_folders(facts.config)
    usual = next(iter(folders), scripts.USUAL_FOLDER)
    yield from guarded(PROLOG.parameter, check_prolog, facts, usual)
    yield from guarded("JobCompType", check_completions, facts, usual)
    yield from guarded(GATE.parameter, check_gate, facts, usual)
    yield from guarded("JobSubmitPlugins", check_submission, facts.config)
    for folder in folders:
        yield from check_folder(folder, facts)
        yield from guarded("waiting_folder", check_waiting_folder, facts, folder)
    yield from guarded("hook_socket", check_socket, facts)


def hook_folders(config: Config) -> list[Path]:
    """Return the folders of cosched's scripts that Slurm calls."""
    named = [(role, script) for role in scripts.ROLES for script in texts(config, role.parameter)]
    ours = (script_of(role, Path(script)) for role, script in named)
    return list(dict.fromkeys(script.parent for script in ours if script is not None))


def check_prolog(facts: Facts, usual: Path) -> Finding:
    """Check the hook that holds jobs; newer versions of Slurm can call several."""
    named = texts(facts.config, PROLOG.parameter)
    if not named:
        found = "not set: Slurm starts jobs without asking for their mates"
        return problem(PROLOG.parameter, found, "name the hook", _CONF, PROLOG.line(usual))
    if gone := next((script for script in named if is_gone(Path(script), facts.slurm_user)), None):
        ends = "slurmctld ends at its next reconfiguration, and does not start"
        alone = "jobs start without asking for their mates"
        found = f"{gone} is not there: {ends if restarts_on_reconfigure(facts.config) else alone}"
        change = "install the hooks, or correct their names"
        return problem(PROLOG.parameter, found, change, _CONF, PROLOG.line(usual))
    ours = [script for script in named if script_of(PROLOG, Path(script))]
    return check_script(PROLOG, Path((ours or named)[0]), facts.slurm_user, usual)


def check_completions(facts: Facts, usual: Path) -> Finding:
    """Check the hook that reports ends of jobs. Without it the service has to poll the queue."""
    kind, script = text(facts.config, "JobCompType"), text(facts.config, JOBCOMP.parameter)
    if kind == _COMPLETIONS:
        checked = check_script(JOBCOMP, Path(script), facts.slurm_user, usual)
        if not checked.change:
            return checked
        kind = checked.found
    room = "" if kind in ("", "jobcomp/none") else ", or accept this: Slurm calls only one such script"
    late = f"the service finds ends of jobs by polling, up to {facts.settings.poll_interval:g} s late"
    found, change = f"{kind or 'not set'}: {late}", f"let cosched's script report ends{room}"
    return warning("JobCompType", found, change, _CONF, f"JobCompType={_COMPLETIONS}", JOBCOMP.line(usual))


def check_submission(config: Config) -> Finding:
    """Check the optional hook that checks comments at submission."""
    subject, without = "JobSubmitPlugins", "optional; users are not told at sbatch what is wrong with their comment"
    script = Path(text(config, "SLURM_CONF") or "/etc/slurm/slurm.conf").with_name("job_submit.lua")
    if "lua" not in words(config, subject):
        return ok(subject, f"not lua: {without}")
    if b"cosched" not in scripts.beginning(script):
        return ok(subject, f"lua, but {script} is not cosched's: {without}")
    return ok(subject, f"lua: {script} tells users at sbatch what is wrong with their comment")
