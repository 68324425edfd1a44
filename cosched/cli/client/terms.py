"""Options that say what a job does when others end with which it has started, or are queued again (coscheduling.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from cosched.cli.client.spans import SPAN
from cosched.cli.parameters import Parsed, all_of
from cosched.core.settings import OnMemberRequeued

TERMS = frozenset({"ends_with", "fail_together", "if_requeued", "together_for"})


def _domains(text: str) -> tuple[str, ...]:
    domains = tuple(text.split(","))
    if not all(domains) or len(set(domains)) < len(domains):
        raise ValueError(f"{text!r} is not DOMAIN or DOMAIN,DOMAIN,..., each once")
    return domains


_DOMAINS, _ON_REQUEUED = Parsed("domains", _domains), click.Choice([str(choice) for choice in OnMemberRequeued])
_IF_REQUEUED = "If a mate is queued again while it runs: what then (as its domain has it)."
terms_options = all_of(
    click.option("--ends-with", type=_DOMAINS, metavar="DOMAIN,...", help="End it when its mates there have ended."),
    click.option("--fail-together", is_flag=True, help="Have it fail if a mate fails, or is cancelled."),
    click.option("--if-requeued", type=_ON_REQUEUED, help=_IF_REQUEUED),
    click.option("--together-for", type=SPAN, metavar="TIME", help="Queue it again only so soon after its start."),
)


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
