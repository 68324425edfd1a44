"""The base of a domain's answers, which give the values of protocol messages as datetimes and plain words.

A view is a thin wrapper round the message: values are converted only when they are read, so ten thousand jobs cost
little. Instants are aware datetimes in UTC; states are lower-case words.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Generic, TypeVar

from google.protobuf.message import Message

Covered = TypeVar("Covered", bound=Message)


class _Slotted(type):
    """Makes classes whose instances have no attributes but those that are declared."""

    @classmethod
    def __prepare__(cls, name: str, bases: tuple[type, ...], /, **_: Any) -> dict[str, object]:
        return {"__slots__": ()}


class View(Generic[Covered], metaclass=_Slotted):
    """The base of all views: comparable, hashable, and with all values in its repr."""

    __slots__ = ("_message",)

    def __init__(self, message: Covered) -> None:
        self._message = message

    def as_dict(self) -> dict[str, Any]:
        """Return all values by name, parts as nested tables; suits a row of a data frame, for example."""
        return {name: _plain(value) for name, value in self._values()}

    def _values(self) -> Iterator[tuple[str, Any]]:
        for name, attribute in vars(type(self)).items():
            if isinstance(attribute, property):
                yield name, getattr(self, name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and bool(self._message == other._message)

    def __hash__(self) -> int:
        return hash(self._message.SerializeToString(deterministic=True))

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value!r}" for name, value in self._values() if value not in (None, "", (), {}))
        return f"{type(self).__name__}({values})"


def _plain(value: Any) -> Any:
    if isinstance(value, View):
        return value.as_dict()
    return [_plain(item) for item in value] if isinstance(value, tuple) else value
