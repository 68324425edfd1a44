"""What must be so of accounts beside a batch system: it says which account a job is of, and a budget counts by that."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from cosched.client import Client

ALLOWED = 9  # node-seconds a day
NAME = "climate"
RECENT = timedelta(hours=1)
ENDED = ("completed", "failed", "cancelled")


def has_budget(service: Any) -> None:
    """Give the account a budget, and restart the service with it."""
    service.stop()
    path = service.folder / "cosched.toml"
    path.write_text(f'{path.read_text()}\n[[account]]\nname = "{NAME}"\nmax_held_node_hours = {ALLOWED / 3600}\n')
    service.start()


def check_accounts(
    client: Client, until: Callable[[Callable[[], object], str], object], submit: Callable[[str, str], str]
) -> None:
    """`submit`: a job of one of two nodes, with a pair's name and an account, whose mate is never submitted."""
    first = submit("p", NAME)
    until(lambda: client.job(first).state == "holding", "the first job to hold")
    until(lambda: client.job(first).holds.held_node_seconds > ALLOWED, "the budget to be used up")
    over = submit("q", NAME)
    until(lambda: client.job(over).reason == "HeldBudget", "the second job to yield")
    other = submit("r", "fusion")
    until(lambda: client.job(other).state == "holding", "a job of another account to hold")
    reason = client.explain(over).job.reason
    assert (reason.kind, reason.detail["account"]) == ("holds_over_budget", NAME)
    jobs = (first, over, other)
    assert all(job.submitted_at >= job.ready_at - RECENT for job in map(client.job, jobs) if job.ready_at)
    assert [client.job(job).account for job in jobs] == [NAME, NAME, "fusion"]
    for job in jobs:
        client.cancel(job)
    until(lambda: all(client.job(job).state in ENDED for job in jobs), "all ends")
    sums = {usage.name: usage for usage in client.usage("account")}
    assert sums[NAME].may_hold_in_a_day == ALLOWED
    assert sums[NAME].held_in_a_day == sums[NAME].cost.held > ALLOWED
    assert sums["fusion"].may_hold_in_a_day is None
