"""Reading parameters in the form in which `scontrol show config` prints them."""

from __future__ import annotations

import re
from collections.abc import Mapping

Config = Mapping[str, str]
_UNSET = ("", "(null)", "none", "n/a")
_NO_LIMIT = 65533  # from here on: Slurm's INFINITE and NO_VAL of 16 bits
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")


def text(config: Config, key: str) -> str:
    """Return a parameter; empty if it is not set."""
    value = config.get(key, "")
    return "" if value.lower() in _UNSET else value


def texts(config: Config, key: str) -> list[str]:
    """Return the values of a parameter that may occur several times, as KEY or KEY[0], KEY[1], ..."""
    keys = [name for name in config if name == key or name.startswith(f"{key}[")]
    return [value for name in keys if (value := text(config, name))]


def words(config: Config, key: str) -> list[str]:
    """Return the words of a comma-separated list."""
    return [word.strip() for word in text(config, key).split(",") if word.strip()]


def number(config: Config, key: str) -> float | None:
    """Return the number at the start of a parameter such as `300 sec`; None if there is none, or no limit."""
    match = _NUMBER.match(text(config, key))
    value = float(match[0]) if match else None
    return None if value is None or value >= _NO_LIMIT else value


def option(config: Config, key: str, name: str, default: float) -> float:
    """Return the number of `name=NUMBER` among the words of a parameter."""
    for word in words(config, key):
        if word.lower().startswith(f"{name}="):
            match = _NUMBER.fullmatch(word.partition("=")[2])
            return float(match[0]) if match else default
    return default


def with_options(config: Config, key: str, options: Mapping[str, str]) -> str:
    """Return the line of slurm.conf that sets these options of a parameter and keeps its others."""
    others = [word for word in words(config, key) if word.lower().partition("=")[0] not in options]
    return f"{key}={','.join([*others, *(f'{name}={value}' for name, value in options.items())])}"
