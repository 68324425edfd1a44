"""The settings of a replay for Python programs: mistakes are InputError, in one line, and not those of pydantic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from cosched_sim import configuration
from cosched_sim.mistakes import input_error, inside


class _Checked(BaseModel):
    """Settings whose mistakes are InputError."""

    if not TYPE_CHECKING:  # type checkers know the fields

        def __init__(self, **values: Any) -> None:
            """Check the values; InputError."""
            try:
                super().__init__(**values)
            except ValidationError as error:
                kind = type(self)
                raise input_error(error, inside(kind.__name__), values, kind, configuration.Domain) from None


class Domain(_Checked, configuration.Domain):
    """One policy domain of a replay: a job log and its settings. Durations are seconds or text such as '20m'."""


class ReplayConfig(_Checked, configuration.ReplayConfig):
    """A whole replay: its domains, at most one way to choose mates, and scripted events."""
