"""Domains and pairs of a replay: flags win over a TOML file, the file over the defaults."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cosched.words.errors import InputError

if TYPE_CHECKING:
    from cosched_sim.configuration import ReplayConfig

EXCLUSIVE = (
    frozenset({"pairs", "pair_window", "pair_fraction"}),
    frozenset({"pairs", "group_size"}),
    frozenset({"pair_window", "group_size"}),
    frozenset({"load", "scale"}),
    frozenset({"shift", "start"}),
)
FILES = ("trace", "pairs", "script")
NO_DOMAIN = "no domain: give --domain NAME,trace=FILE,... or a --config FILE"


def replay_settings(domains: Sequence[str], config: str | None, **options: Any) -> ReplayConfig:
    """Return the settings of a replay; `options` are keys of ReplayConfig, None or False if not given. InputError."""
    flags = [parse_domain(text) for text in domains]
    if not flags and config is None:
        raise InputError("--domain", None, NO_DOMAIN)
    from cosched_sim.configuration import read_toml, replay_config
    from cosched_sim.mistakes import place

    file = file_settings(config, read_toml(config)) if config is not None else {"domains": []}
    given = {key: value for key, value in options.items() if value not in (None, False)}
    values = {**_overridden(file, given), "domains": _merged(file["domains"], flags)}
    if not values["domains"]:
        raise InputError(config or "--domain", None, NO_DOMAIN)

    def locate(domain: str | None, key: str | None) -> tuple[str, str | None]:
        """Return source and place for an InputError: where a setting was given."""
        if domain is None:
            if key in given or config is None:
                return (f"--{key.replace('_', '-')}" if key else "--domain"), None
            return config, place(None, key)
        flag = next((flag for flag in flags if flag["name"] == domain), {})
        in_file = any(str(settings.get("name")) == domain for settings in file["domains"])
        if config is None or key in flag or (flag and not in_file):
            return f"--domain {domain}", key
        return config, place(domain, key)

    return replay_config(locate, values)


def check_files(settings: ReplayConfig) -> None:
    """Raise InputError for a file of the settings that cannot be read."""
    named = [*(domain.trace for domain in settings.domains), settings.pairs, settings.script]
    for path in (named_file(str(each)) for each in named if each is not None):
        if path is None or path == "-":
            continue
        try:
            os.stat(path)  # not opened: that would disturb a pipe
        except OSError as error:
            raise InputError(path, None, f"cannot be read: {error.strerror}") from None


def named_file(text: str) -> str | None:
    """Return the file that the value of a key in FILES names, "-" for standard input; None if it names none."""
    from cosched_sim.script import is_text
    from cosched_sim.workload.generated import file_of, is_generated

    if is_generated(text):
        return file_of(text)
    return None if is_text(text) else text


def parse_domain(text: str) -> dict[str, str]:
    """Parse `NAME,key=value,...`; a comma in parentheses is part of the value; InputError."""
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
    """Return a file's keys as those of a ReplayConfig; file names in it are relative to its folder."""
    if "domains" in values:
        raise InputError(path, "domains", "no such key; each domain is a table under a line [[domain]]")
    domains = values.pop("domain", [])
    if not isinstance(domains, list) or not all(isinstance(domain, dict) for domain in domains):
        raise InputError(path, "domain", "each domain is a table under a line [[domain]]")
    for table in (values, *domains):
        for key in FILES:
            if isinstance(table.get(key), str):
                table[key] = in_folder(Path(path).parent, table[key])
    return {**values, "domains": domains}


def in_folder(folder: Path, text: str) -> str:
    """Return the value of a key in FILES with the file that it names, if any, in a folder."""
    from cosched_sim.workload.generated import is_generated, with_file

    file = named_file(text)
    if file is None or file == "-":
        return text
    path = str(folder / file)
    return with_file(text, path) if is_generated(text) else path


def _overridden(values: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return `values` overridden by `given`; a given key also removes the keys that exclude it."""
    displaced = {key for group in EXCLUSIVE if group & given.keys() for key in group}
    return {key: value for key, value in values.items() if key not in displaced} | dict(given)


def _merged(file: Sequence[dict[str, Any]], flags: Sequence[dict[str, str]]) -> list[dict[str, Any]]:
    """Return the file's domains in order, each overridden by the flag with its name, then the flags' other domains."""
    by_name: dict[str, dict[str, str]] = {}
    for flag in flags:
        if flag["name"] in by_name:
            raise InputError(f"--domain {flag['name']}", None, "given twice")
        by_name[flag["name"]] = flag
    merged = [_overridden(domain, by_name.pop(str(domain.get("name")), {})) for domain in file]
    return [*merged, *by_name.values()]
