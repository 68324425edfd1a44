"""The settings of a replay for Python programs: mistakes are InputError, in one line, and not those of pydantic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from cosched_sim import configuration
from cosched_sim.mistakes import input_error, inside


class Domain(configuration.Domain):
    """One policy domain of a replay: a job log and its settings. Durations are seconds or text such as '20m'."""

    if not TYPE_CHECKING:  # type checkers know the fields

        def __init__(self, **values: Any) -> None:
            """Check the values; InputError."""
            try:
                super().__init__(**values)
            except ValidationError as error:
                raise input_error(error, inside("Domain"), values, configuration.Domain, configuration.Domain) from None


class ReplayConfig(configuration.ReplayConfig):
    """A whole replay: its domains, at most one way to choose mates, and scripted events."""

    if not TYPE_CHECKING:

        def __init__(self, **values: Any) -> None:
            """Check the values; InputError."""
            try:
                super().__init__(**values)
            except ValidationError as error:
                whole, domain = configuration.ReplayConfig, configuration.Domain
                raise input_error(error, inside("ReplayConfig"), values, whole, domain) from None
