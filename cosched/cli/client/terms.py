"""Options that say what a job does when others end with which it has started, or are queued again (coscheduling.md)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from cosched.cli.client.spans import Span
from cosched.core.settings import OnMemberRequeued

Command = TypeVar("Command", bound=Callable[..., Any])

TERMS = frozenset({"ends_with", "fail_together", "if_requeued", "together_for"})


class Domains(click.ParamType[tuple[str, ...]]):
    """Names of domains, joined by commas."""

    name = "domains"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        """Return the names."""
        if isinstance(value, tuple):
            return value
        domains = tuple(str(value).split(","))
        if not all(domains) or len(set(domains)) < len(domains):
            self.fail(f"{value!r} is not DOMAIN or DOMAIN,DOMAIN,..., each once", param, ctx)
        return domains


def terms_options(command: Command) -> Command:
    """Add `--ends-with`, `--fail-together`, `--if-requeued` and `--together-for`."""
    options = [
        click.option(
            "--ends-with", type=Domains(), metavar="DOMAIN,...", help="End it when its mates there have ended."
        ),
        click.option("--fail-together", is_flag=True, help="Have it fail if a mate fails, or is cancelled."),
        click.option(
            "--if-requeued",
            type=click.Choice([str(choice) for choice in OnMemberRequeued]),
            help="If a mate is queued again while it runs: what then (as its domain has it).",
        ),
        click.option(
            "--together-for", type=Span(), metavar="TIME", help="Queue it again only so soon after its start."
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def check_terms(asked: Mapping[str, Any]) -> None:
    """Check that terms are given to a job that starts with others; UsageError."""
    named = any(asked.get(name) is not None for name in ("mate", "pair", "group", "in_place_of"))
    for name in sorted(TERMS):
        if asked.get(name) and not named:
            raise click.UsageError(f"--{name.replace('_', '-')} needs --mate, --pair or --group")
    if asked.get("together_for") is not None and asked.get("if_requeued") not in (None, "requeue"):
        raise click.UsageError("--together-for needs --if-requeued=requeue")


def of_domain(asked: Mapping[str, Any], domain: str) -> dict[str, Any]:
    """Return the options of the job on `domain`, if all of its group were given these: it does not end with itself."""
    ends_with = tuple(other for other in asked.get("ends_with") or () if other != domain)
    return {**asked, "ends_with": ends_with or None}
