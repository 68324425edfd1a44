"""`--export`: the variables of the user's environment that a job gets."""

from __future__ import annotations

from collections.abc import Mapping

from cosched.words.errors import InputError

MAX_VARIABLE = 32768  # characters, as the protocol has it


def exported(choice: str, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables for `choice`: `ALL`, `NONE`, or a comma-separated list of NAME and NAME=VALUE; InputError.

    ALL leaves out variables that cannot be sent (not text, or too long).
    """
    chosen: dict[str, str] = {}
    for item in choice.split(","):
        name, equals, value = item.partition("=")
        if equals:
            chosen[name] = value
        elif item == "ALL":
            chosen |= {key: text for key, text in environment.items() if _can_be_sent(key) and _can_be_sent(text)}
        elif item in environment:
            chosen[item] = environment[item]
        elif item != "NONE":
            raise InputError("--export", None, f"the variable {item!r} is not set")
    for name, value in chosen.items():
        if not (name and _can_be_sent(name) and _can_be_sent(value)):
            raise InputError("--export", None, f"the variable {name!r} cannot be sent: empty name, no text or too long")
    return chosen


def _can_be_sent(text: str) -> bool:
    """Return whether the text is valid Unicode (invalid bytes were read as surrogates) and not too long."""
    return len(text) <= MAX_VARIABLE and not any("\ud800" <= character <= "\udfff" for character in text)
