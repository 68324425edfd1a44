"""Describes mistakes in a replay's configuration in one line: the place, the key and the reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from cosched.validation.mistakes import first_mistake, key_shown, no_such_key
from cosched.words.errors import InputError

Locate = Callable[[str | None, str | None], tuple[str, str | None]]
"""(domain or None, key or None) -> the `source` and `where` of an InputError."""


def inside(source: str) -> Locate:
    """Return a Locate for settings that all come from one `source`."""
    return lambda domain, key: (source, place(domain, key))


def place(domain: str | None, key: str | None) -> str | None:
    """Return a key's dotted path in a configuration file; domains are shown by name."""
    parts = (["domain", domain] if domain else []) + ([key_shown(key)] if key else [])
    return ".".join(parts) or None


def input_error(
    error: ValidationError,
    locate: Locate,
    values: Mapping[str, Any],
    whole: type[BaseModel],
    domain_model: type[BaseModel],
) -> InputError:
    """Return the first mistake in `values`, found by the model `whole` with its domains of type `domain_model`."""
    mistake = first_mistake(error)
    domain, key = _domain_and_key(mistake.path, values)
    reason = mistake.reason
    if mistake.unknown_key:
        model = domain_model if domain else whole
        reason = no_such_key(str(key), ({"domains": "domain"}.get(name, name) for name in model.model_fields))
    return InputError(*locate(domain, key), reason)


def _domain_and_key(loc: Sequence[int | str], values: Mapping[str, Any]) -> tuple[str | None, str | None]:
    if len(loc) < 2 or loc[0] != "domains":
        return None, (str(loc[0]) if loc else None)
    number = int(loc[1])
    settings = values["domains"][number]
    name = settings.get("name") if isinstance(settings, dict) else getattr(settings, "name", None)
    return str(name or number + 1), (str(loc[2]) if len(loc) > 2 else None)
