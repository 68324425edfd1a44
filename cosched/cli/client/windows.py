"""Options that say when the jobs of a group start: apart, in windows, or at an instant (coscheduling.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from cosched.cli.client.spans import SPAN, Timed
from cosched.cli.parameters import all_of
from cosched.validation.durations import parse_instant, parse_offset
from cosched.validation.group_names import domains_of
from cosched.validation.group_windows import Windows, read_window, those_apart, wrong_windows
from cosched.words.errors import InputError

if TYPE_CHECKING:
    from cosched.client import Domain

WINDOWS = frozenset({"windows", "start_after", "within", "end_together"})
WHEN = WINDOWS | {"at"}


def _offset(text: str) -> tuple[str, int]:
    """Return the domain, and the seconds, of `mira:+10m`."""
    domain, _, offset = text.rpartition(":")
    seconds = parse_offset(offset)
    if not domain:
        raise ValueError(f"{text!r} is not DOMAIN:+TIME, such as mira:+10m")
    return domain, seconds


def _after_domain(text: str) -> list[str]:
    return text.rpartition(":")[2].split("..")


_WINDOW, _OFFSET = Timed("window", read_window, _after_domain), Timed("offset", _offset, _after_domain)
_INSTANT = Timed("instant", lambda text: parse_instant(text, datetime.now().astimezone()), lambda text: [text])
_AFTER = "Start so long after the group's job there."
_IN_WINDOW = "When that job starts, counted from those without a window."
window_options = all_of(
    click.option("--start-after", type=_OFFSET, metavar="DOMAIN:+TIME", help=_AFTER),
    click.option("--within", type=SPAN, metavar="TIME", help="The others start so long before or after it."),
    click.option("--window", "windows", type=_WINDOW, multiple=True, metavar="DOMAIN:FROM..TO", help=_IN_WINDOW),
    click.option("--at", type=_INSTANT, metavar="TIME", help="When all start: 2026-11-23T18:00, 18:00 or +2h."),
)


def check_windows(asked: Mapping[str, Any]) -> None:
    """Check which options are given together; UsageError."""
    given = [name for name in sorted(WINDOWS) if asked.get(name)]
    named = asked["group"] or asked["pair"]
    if asked["at"] is not None and not named:
        raise click.UsageError("--at needs --group or --pair: it says when that starts")
    if given and not named:
        said = "--start-after, --within, --window and --end-together need --group or --pair: they part its jobs"
        raise click.UsageError(said)
    if len(given) > 1 and not {*given} <= {"start_after", "windows"}:
        raise click.UsageError("--within and --end-together give all windows: they exclude the other options for them")


def pair_apart(asked: Mapping[str, Any], domain: Domain) -> dict[str, Any]:
    """Return the options of a job on the domain: a pair with windows, or an instant, is a group of two. InputError."""
    if not asked.get("pair") or not any(asked.get(name) for name in WHEN):
        return dict(asked)
    peers = [peer.name for peer in domain.peers]
    meant = asked.get("pair_domain") or domain.default_peer
    if not meant:
        raise InputError("--pair-domain", None, f"is missing: {domain.name} has {' and '.join(peers) or 'no peers'}")
    others = {"group": asked["pair"], "members": (meant,)}
    return {name: value for name, value in asked.items() if name not in ("mate", "pair", "pair_domain")} | others


def windows_of(asked: Mapping[str, Any], own: str, others: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Return the windows of a group by domain, as the options of its job on the domain `own` have them; InputError."""
    others = domains_of(others)
    within = asked["within"]
    windows = {} if within is None else dict.fromkeys(others, (-within, within))
    for domain, window in asked["windows"]:  # none beside --within
        if windows.setdefault(domain, window) != window:
            raise InputError("--window", None, f"{domain} has two windows")
    if asked["start_after"] is not None:
        _start_after(windows, own, *asked["start_after"])
    if (wrong := wrong_windows(windows, (own, *others))) is not None:
        raise InputError("--group", None, " ".join(wrong))
    return those_apart(windows)


def _start_after(windows: dict[str, tuple[int, int]], own: str, domain: str, offset: int) -> None:
    if domain == own:
        raise InputError("--start-after", None, f"{domain} is the job's own domain: name another one")
    if windows.get(domain, (0, 0)) != (0, 0):
        raise InputError("--start-after", None, f"{domain} has a window itself: name a domain whose job has none")
    if windows.setdefault(own, (offset, offset)) != (offset, offset):
        raise InputError("--start-after", None, f"{own} has another window by --window")


def windows_given(given: Mapping[str, Any], own: str, others: Sequence[str]) -> Windows:
    """Return the windows of a group by the options that were given of its job on the domain `own`; InputError."""
    if given.get("end_together"):
        raise InputError("--end-together", None, "needs --to, to know the --time of all jobs of the group")
    return windows_of({"within": None, "windows": (), "start_after": None, **given}, own, others)


def windows_of_all(jobs: Sequence[tuple[str, Mapping[str, Any]]], flags: Mapping[str, Any]) -> Windows:
    """Return the windows of jobs that are submitted together, of all their options; `flags`: the command line's.

    `--within` counts from the first job. InputError.
    """
    domains = [domain for domain, _ in jobs]
    if flags["start_after"] is not None:
        raise InputError("--start-after", None, "is of one job: write it in its script, or give --window DOMAIN:+TIME")
    if flags["end_together"]:
        return _end_together(jobs)
    found: dict[str, tuple[int, int]] = {}
    for domain, asked in jobs:
        others = [other for other in domains if other != domain]
        of_job = {**asked, "within": None} if asked["within"] is not None and domain != domains[0] else asked
        for named, window in windows_of(of_job, domain, others).items():
            if found.setdefault(named, window) != window:
                raise InputError("--to", None, f"the job of {domain} gives that of {named} another window than others")
    if (wrong := wrong_windows(found, domains)) is not None:
        raise InputError("--to", None, " ".join(wrong))
    return found


def instant_of_all(jobs: Sequence[tuple[str, Mapping[str, Any]]]) -> int | None:
    """Return the instant of jobs that are submitted together, None if they have none; InputError if they differ."""
    instants: set[int | None] = {asked["at"] for _, asked in jobs}
    if len(instants) > 1:
        raise InputError("--to", None, "the jobs give different instants by --at: all jobs of a group give the same")
    return instants.pop()


def _end_together(jobs: Sequence[tuple[str, Mapping[str, Any]]]) -> Windows:
    """Start the longest job at the common instant, each other one so much later as it is shorter."""
    for domain, asked in jobs:
        if asked["time_limit"] is None:
            raise InputError("--end-together", None, f"needs the --time of each job, and that of {domain} has none")
    longest = max(asked["time_limit"] for _, asked in jobs)
    offsets = {domain: longest - asked["time_limit"] for domain, asked in jobs}
    windows = those_apart({domain: (offset, offset) for domain, offset in offsets.items()})
    if (wrong := wrong_windows(windows, list(offsets))) is not None:
        raise InputError("--end-together", None, " ".join(wrong))
    return windows
