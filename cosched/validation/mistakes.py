"""Describes mistakes in settings in one line: the key and the reason."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from cosched.validation.text import shown

_LED_BY_KEY = re.compile(r"([a-z_]+): (.*)", re.DOTALL)
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True)
class Mistake:
    """One mistake; `path` leads to the key: names of tables and keys, and indices of list entries from 0."""

    path: tuple[int | str, ...]
    kind: str  # pydantic's name for it
    reason: str

    @property
    def unknown_key(self) -> bool:
        """Whether the table has no such key."""
        return self.kind == "extra_forbidden"


class KeyedError(ValueError):
    """A mistake that a model's validator finds at `path`, relative to the model."""

    def __init__(self, path: tuple[int | str, ...], reason: str) -> None:
        self.path = path
        super().__init__(reason)


def first_mistake(error: ValidationError) -> Mistake:
    """Return pydantic's first mistake, but an unknown key before a missing one, which may be the same key misspelt.

    A model's plain ValueError may begin with the key it is about, `KEY: `.
    """
    errors = error.errors(include_url=False)
    unknown = (other for other in errors if other["type"] == "extra_forbidden" and errors[0]["type"] == "missing")
    first = next(unknown, errors[0])
    path, reason = first["loc"], _reason(first)
    cause = first.get("ctx", {}).get("error")
    led = _LED_BY_KEY.fullmatch(reason)
    if isinstance(cause, KeyedError):
        path = (*path, *cause.path)
    elif led and isinstance(first["input"], dict | BaseModel):
        path, reason = (*path, led[1]), led[2]
    return Mistake(path, first["type"], reason)


def no_such_key(key: str, names: Iterable[str]) -> str:
    """Return the message for an unknown key, with the known key that was probably meant."""
    return f"no such key{close_to(key, names)}"


def close_to(name: str, names: Iterable[str]) -> str:
    """Return how a message about an unknown name ends: which known one was probably meant, else which there are."""
    names = list(names)
    close = difflib.get_close_matches(name, names, n=1)
    return f"; did you mean {close[0]}?" if close else f"; there are {', '.join(names) or 'none'}"


def key_shown(key: str) -> str:
    """Return a key as part of a dotted path; a key with special characters is quoted."""
    return key if _BARE_KEY.fullmatch(key) else shown(key)


def _reason(mistake: Any) -> str:
    value, context = mistake.get("input"), mistake.get("ctx", {})
    if mistake["type"] in _REASONS:
        return _REASONS[mistake["type"]].format(value=_value_shown(value), **context)
    return str(mistake["msg"]).removeprefix("Value error, ")


def _value_shown(value: object) -> str:
    if isinstance(value, str):
        return shown(value)
    if isinstance(value, dict | BaseModel):
        return "a table"
    return "a list" if isinstance(value, list | tuple) else shown(str(value)).strip("'")


_KINDS = {  # pydantic's names for them, by what is said
    "missing": ("missing",),
    "{value} is not a whole number": ("int_parsing", "int_type", "int_from_float"),
    "{value} is too large": ("int_parsing_size",),
    "{value} is not a number": ("decimal_parsing", "decimal_type", "float_parsing", "float_type", "finite_number"),
    "{value} is not {expected}": ("literal_error", "enum"),
    "{value} is not a text in quotes": ("string_type",),
    "{value} is neither true nor false": ("bool_type", "bool_parsing"),
    "{value} is not a path": ("path_type",),
    "{value} is not a list": ("tuple_type",),
    "{value} is not a table": ("dict_type", "mapping_type", "model_type"),
    "{value} is below {ge}": ("greater_than_equal",),
    "{value} is not above {gt}": ("greater_than",),
    "{value} is above {le}": ("less_than_equal",),
    "{value} is not a name: use 1 to 64 letters, digits, '_', '-' or '.'": ("string_pattern_mismatch",),
    "at least {min_length} needed": ("too_short",),
    "there are {actual_length}, at most {max_length} are allowed": ("too_long",),
}
_REASONS = {kind: reason for reason, kinds in _KINDS.items() for kind in kinds}
