"""Says in one line what is wrong with a configuration: where, which key, and why."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from cosched.errors import InputError
from sim.traces.values import shown

Locate = Callable[[str | None, str | None], tuple[str, str | None]]
"""(domain or None, key or None) -> what `InputError` calls source and where."""

_LED_BY_KEY = re.compile(r"([a-z_]+): (.*)", re.DOTALL)


def inside(source: str) -> Locate:
    """Everything was said in one place, `source`."""
    return lambda domain, key: (source, place(domain, key))


def place(domain: str | None, key: str | None) -> str | None:
    """A key's dotted path in a configuration file; a domain goes by its name."""
    parts = (["domain", domain] if domain else []) + ([key] if key else [])
    return ".".join(parts) or None


def input_error(
    error: ValidationError,
    locate: Locate,
    values: Mapping[str, Any],
    whole: type[BaseModel],
    domain_model: type[BaseModel],
) -> InputError:
    """The first mistake in `values`, which were to become a `whole` configuration of some `domain_model`s."""
    first = error.errors(include_url=False)[0]
    domain, key = _domain_and_key(first["loc"], values)
    reason = _reason(first)
    led = _LED_BY_KEY.fullmatch(reason)
    if key is None and led:
        key, reason = led[1], led[2]
    if first["type"] == "extra_forbidden":
        reason = _no_such_key(str(key), domain_model if domain else whole)
    return InputError(*locate(domain, key), reason)


def _domain_and_key(loc: Sequence[int | str], values: Mapping[str, Any]) -> tuple[str | None, str | None]:
    if len(loc) < 2 or loc[0] != "domains":
        return None, (str(loc[0]) if loc else None)
    number = int(loc[1])
    settings = values["domains"][number]
    name = settings.get("name") if isinstance(settings, dict) else settings.name
    return str(name or number + 1), (str(loc[2]) if len(loc) > 2 else None)


def _no_such_key(key: str, model: type[BaseModel]) -> str:
    names = [{"domains": "domain"}.get(name, name) for name in model.model_fields]
    close = difflib.get_close_matches(key, names, n=1)
    return f"no such key; did you mean {close[0]}?" if close else f"no such key; there are {', '.join(names)}"


def _reason(mistake: Any) -> str:
    value, context = mistake.get("input"), mistake.get("ctx", {})
    if mistake["type"] in _REASONS:
        text = shown(value) if isinstance(value, str) else str(value)
        return _REASONS[mistake["type"]].format(value=text, **context)
    return str(mistake["msg"]).removeprefix("Value error, ")


_NO_WHOLE_NUMBER = "{value} is not a whole number"
_NO_NUMBER = "{value} is not a number"
_REASONS = {
    "missing": "missing",
    "int_parsing": _NO_WHOLE_NUMBER,
    "int_parsing_size": "{value} is too large",
    "int_type": _NO_WHOLE_NUMBER,
    "int_from_float": _NO_WHOLE_NUMBER,
    "decimal_parsing": _NO_NUMBER,
    "decimal_type": _NO_NUMBER,
    "finite_number": _NO_NUMBER,
    "literal_error": "{value} is not {expected}",
    "enum": "{value} is not {expected}",
    "string_type": "{value} is not a text in quotes",
    "bool_type": "{value} is neither true nor false",
    "bool_parsing": "{value} is neither true nor false",
    "greater_than_equal": "{value} is below {ge}",
    "greater_than": "{value} is not above {gt}",
    "less_than_equal": "{value} is above {le}",
    "string_pattern_mismatch": "{value} is no name: 1 to 64 letters, digits, '_', '-' or '.' are",
    "too_short": "at least {min_length} needed",
    "too_long": "there are {actual_length}, at most {max_length} are allowed",
}
