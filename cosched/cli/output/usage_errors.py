"""Wrong usage in one line, as other failures are told."""

from __future__ import annotations

import click

from cosched.cli.output.failures import UNUSABLE, Failure
from cosched.validation.near_names import nearest


def usage_failure(error: click.UsageError) -> Failure:
    """Return the failure of a command that was called wrongly, which names its help."""
    said, command = reason(error), error.ctx.command_path if error.ctx is not None else "cosched"
    return Failure(f"{said}{'' if said.endswith(('.', '?')) else '.'} Try '{command} -h'", UNUSABLE)


def reason(error: click.UsageError) -> str:
    """Say what was wrong; an option that is not there is followed by one that comes near, or that may be meant."""
    if not isinstance(error, click.NoSuchOption):
        return error.format_message()
    known = [] if error.ctx is None else error.ctx.command.get_params(error.ctx)
    names = {option.lstrip("-"): option for param in known for option in param.opts if option.startswith("--")}
    name = error.option_name.lstrip("-")
    said = f"No such option '{error.option_name}'."
    if near := nearest(name, names):
        return f"{said} Did you mean '{names[near]}'?"
    if "column" in names and error.option_name.startswith("--"):
        return f"{said} If the domain's scheduler reads it: --column {name.replace('-', '_')}=TEXT."
    return said
