"""An application of a size, as users name it: NAME,key=value,..."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import BaseModel, ValidationError

from cosched.planning.application import Application
from cosched.planning.loading import applications
from cosched.validation.mistakes import close_to, first_mistake, no_such_key
from cosched.validation.text import shown
from cosched.words.errors import InputError


@dataclass(frozen=True, slots=True)
class Problem:
    """An application, the size of its problem, and its settings."""

    application: Application
    size: int
    settings: BaseModel


def problem_of(text: str, size: int) -> Problem:
    """Parse `NAME,key=value,...`; InputError names the key."""
    name, *settings = text.split(",")
    known = applications()
    if name not in known:
        raise InputError("--application", None, f"no application is called {shown(name)}{close_to(name, known)}")
    source = f"--application {name}"
    values: dict[str, str] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals:
            raise InputError(source, None, f"key=value expected, not {shown(setting)}")
        if key in values:
            raise InputError(source, key, "given twice")
        values[key] = value
    try:
        return Problem(known[name], size, known[name].keys.model_validate(values))
    except ValidationError as error:
        mistake = first_mistake(error)
        where = str(mistake.path[0]) if mistake.path else None
        reason = no_such_key(str(where), known[name].keys.model_fields) if mistake.unknown_key else mistake.reason
        raise InputError(source, where, reason) from None
