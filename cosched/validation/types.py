"""Types of settings for pydantic models; a mistake raises a ValueError that says what is expected."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from cosched.core.protocol import MAX_MEMBERS
from cosched.core.scheduling.pools import parse_node_pool
from cosched.validation.durations import parse_offset, parse_seconds
from cosched.validation.policies import expression_of, ordering_of
from cosched.validation.schemes import checked_budget, checked_share


def _by(parse: Callable[[str], int]) -> BeforeValidator:
    """Return what reads texts so; a number is seconds."""
    return BeforeValidator(lambda value: parse(value) if isinstance(value, str) else _no_bool(value))


def _no_bool(value: object) -> object:
    """Refuse true and false as numbers: Python takes true for 1, users do not."""
    if isinstance(value, bool):
        raise ValueError(f"a number is expected, not {str(value).lower()}")
    return value


def _switch(value: object) -> object:
    """On and off as text, of a flag; in files they are true and false."""
    return _SWITCHES.get(value, value) if isinstance(value, str) else value


def _policy(value: str) -> str:
    value = expression_of(value)
    ordering_of(value)
    return value


def _node_pool(value: str) -> str:
    parse_node_pool(value)
    return value


def _group_size(value: object) -> object:
    """Return a number of members, or two with a hyphen between them, as the range of all that are allowed."""
    if isinstance(value, range):
        return value
    least, _, most = str(_no_bool(value)).partition("-")
    if not all(part.isascii() and part.isdecimal() and len(part) < 9 for part in (least, most or least)):
        raise ValueError(f"{value!r} is not a number of jobs, as 3, or two, as 2-5")
    if not 2 <= int(least) <= int(most or least) <= MAX_MEMBERS:
        raise ValueError(f"a group has 2 to {MAX_MEMBERS} jobs, not {value}")
    return range(int(least), int(most or least) + 1)


_SWITCHES = {"on": True, "true": True, "off": False, "false": False}

DomainName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,64}$")]
Whole = Annotated[int, BeforeValidator(_no_bool)]
Number = Annotated[Decimal, BeforeValidator(_no_bool)]
Seconds = Annotated[int, _by(parse_seconds), Field(ge=0)]
Offset = Annotated[int, _by(parse_offset)]  # in seconds
ExactSeconds = Annotated[Decimal, _by(parse_seconds), Field(ge=0)]
MateBudget = Annotated[Number, AfterValidator(checked_budget)]
MateBudgetShare = Annotated[Number, AfterValidator(checked_share)]
GroupSize = Annotated[Any, BeforeValidator(_group_size)]  # a range
Switch = Annotated[bool, Field(strict=True), BeforeValidator(_switch)]
Policy = Annotated[str, AfterValidator(_policy)]
NodePool = Annotated[str, AfterValidator(_node_pool)]
Backfill = Literal["easy", "conservative", "none"]


class Settings(BaseModel):
    """Immutable settings; an unknown key is a mistake."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)  # most models of a process are never used
