"""Domains and pairs of a replay: flags win over a TOML file, the file over the defaults."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from cosched.errors import InputError

if TYPE_CHECKING:
    from cosched.sim.configuration import ReplayConfig

Command = TypeVar("Command", bound=Callable[..., Any])

DOMAIN_HELP = """\b
Keys of a domain, in --domain NAME,key=value,... and [[domain]] tables:
  trace                job log, plain or gzip; - is standard input;
                       generated:MODEL/jobs=N/days=D/utilisation=U/seed=S
                       is drawn (MODEL: intrepid, eureka; what is not
                       given follows, the seed from --seed)
  format               swf, accounting, sacct, csv (told by its first line)
  nodes                size of the machine (stated by the trace)
  procs_per_node       processors of the trace that make a node (1)
  cut                  keep what is submitted in START..END, as 0..20d
  load                 scale the arrivals to this offered load
  scale                multiply the times between arrivals by this
  estimates            multiply what requested times are above the run
                       times by this; 0: exact estimates (1)
  policy               wfp, fcfs, shortest-first, largest-first, or such as
                       min(wait/requested,9)*nodes (wfp)
  backfill             easy, conservative, none (easy)
  node_pool            flat, partitioned:intrepid,
                       partitioned:UNITSxNODES (flat)
  scheme               of a ready job whose mate is not: hold, yield;
                       off: no coscheduling here (hold)
  release_interval     longest hold; 0: no limit (20m)
  release_jitter       what a hold may be longer, as a share of it (0.25)
  release_order        wanted, last (wanted)
  max_held_fraction    of the nodes (0.5)
  max_yields           of a job; then it holds; 0: no limit (0)
  yield_boost          of a job's score at each yield (0)
  on_peer_unreachable  start, hold, yield (start)
  peer_grace           before that, for a peer that was there (0)
  mate_patience        for a mate that is not submitted (no limit)"""

EXCLUSIVE = (frozenset({"pairs", "pair_window", "pair_fraction"}), frozenset({"load", "scale"}))
FILES = ("trace", "pairs", "script")
NO_DOMAIN = "no domain: give --domain NAME,trace=FILE,... or a --config FILE"


def replay_options(*, pairs_file: bool) -> Callable[[Command], Command]:
    """The options that say what is replayed, for a command that passes them on to `replay_settings`."""
    options = [
        click.option("--domain", "domains", multiple=True, metavar="NAME,KEY=VALUE,...", help="A policy domain."),
        click.option("--pairs", metavar="FILE", help="Pairs: a CSV whose columns are domains, its rows job ids."),
        click.option("--pair-window", metavar="TIME", help="Pair jobs of two domains submitted within it."),
        click.option("--pair-fraction", metavar="SHARE", help="Pair this share of the first domain's jobs."),
        click.option("--seed", metavar="N", help="Seed of drawn traces and pairs (0)."),
        click.option(
            "--overrun", type=click.Choice(["extend", "kill"]), help="What of jobs that ran past their request."
        ),
        click.option("--config", metavar="FILE.toml", help="The same settings in a file; flags win."),
    ]

    def add(command: Command) -> Command:
        for option in reversed(options if pairs_file else options[:1] + options[2:]):
            command = option(command)
        return command

    return add


def replay_settings(domains: Sequence[str], config: str | None, **options: Any) -> ReplayConfig:
    """The settings of a replay; `options` are keys of ReplayConfig, None (or False) where not given.

    InputError names the flag or the file, the key and the reason.
    """
    flags = [parse_domain(text) for text in domains]
    if not flags and config is None:
        raise InputError("--domain", None, NO_DOMAIN)
    from cosched.sim.configuration import read_toml, replay_config

    file = file_settings(config, read_toml(config)) if config is not None else {"domains": []}
    given = {key: value for key, value in options.items() if value not in (None, False)}
    values = {**_overridden(file, given), "domains": _merged(file["domains"], flags)}
    if not values["domains"]:
        raise InputError(config or "--domain", None, NO_DOMAIN)
    return replay_config(_Origin(config, file, flags, given).locate, values)


def check_files(settings: ReplayConfig) -> None:
    """InputError names a file of the settings that cannot be read."""
    named = [*(domain.trace for domain in settings.domains), settings.pairs, settings.script]
    for path in (str(path) for path in named if path is not None and not _is_no_file(str(path))):
        try:
            os.stat(path)  # opening it would disturb a pipe
        except OSError as error:
            raise InputError(path, None, f"cannot be read: {error.strerror}") from None


def parse_domain(text: str) -> dict[str, str]:
    """The settings in `NAME,key=value,...`; a comma in parentheses belongs to its value. InputError."""
    name, *settings = _split(text)
    if not name or "=" in name:
        raise InputError("--domain", None, f"NAME,key=value,... expected, but {text!r} begins with no name")
    values = {"name": name}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals:
            raise InputError(f"--domain {name}", None, f"key=value expected, not {setting!r}")
        if key in values:
            raise InputError(f"--domain {name}", key, "given twice")
        values[key] = value
    return values


def _split(text: str) -> list[str]:
    parts, depth = [""], 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if depth < 0:
            break
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    if depth:
        raise InputError("--domain", None, f"the parentheses of {text!r} do not match")
    return parts


def file_settings(path: str, values: dict[str, Any]) -> dict[str, Any]:
    """A file's keys as those of a ReplayConfig; file names in it are relative to its folder."""
    if "domains" in values:
        raise InputError(path, "domains", "no such key; each domain is a table under a line [[domain]]")
    domains = values.pop("domain", [])
    if not isinstance(domains, list) or not all(isinstance(domain, dict) for domain in domains):
        raise InputError(path, "domain", "each domain is a table under a line [[domain]]")
    for table in (values, *domains):
        for key in FILES:
            if isinstance(table.get(key), str) and not _is_no_file(table[key]):
                table[key] = str(Path(path).parent / table[key])
    return {**values, "domains": domains}


def _is_no_file(text: str) -> bool:
    from cosched.sim.generated import is_generated
    from cosched.sim.script import is_text

    return text == "-" or is_generated(text) or is_text(text)


def _overridden(values: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """`given` over `values`; a given key also displaces those that exclude it."""
    displaced = {key for group in EXCLUSIVE if group & given.keys() for key in group}
    return {key: value for key, value in values.items() if key not in displaced} | dict(given)


def _merged(file: Sequence[dict[str, Any]], flags: Sequence[dict[str, str]]) -> list[dict[str, Any]]:
    """The file's domains in their order, flags over them by name, then the others of the flags."""
    by_name: dict[str, dict[str, str]] = {}
    for flag in flags:
        if flag["name"] in by_name:
            raise InputError(f"--domain {flag['name']}", None, "given twice")
        by_name[flag["name"]] = flag
    merged = [_overridden(domain, by_name.pop(str(domain.get("name")), {})) for domain in file]
    return [*merged, *by_name.values()]


@dataclass(frozen=True, slots=True)
class _Origin:
    """Where each setting was given."""

    path: str | None
    file: Mapping[str, Any]
    flags: Sequence[Mapping[str, str]]
    given: Mapping[str, Any]

    def locate(self, domain: str | None, key: str | None) -> tuple[str, str | None]:
        """Source and place for an InputError."""
        from cosched.sim.mistakes import place

        if domain is None:
            if key in self.given or self.path is None:
                return (f"--{key.replace('_', '-')}" if key else "--domain"), None
            return self.path, place(None, key)
        flag = next((flag for flag in self.flags if flag["name"] == domain), {})
        in_file = any(str(settings.get("name")) == domain for settings in self.file["domains"])
        if self.path is None or key in flag or (flag and not in_file):
            return f"--domain {domain}", key
        return self.path, place(domain, key)
