"""What of the core's state outlives a restart, and how it is written.

Each field of a kept type says in its declaration whether it is `Kept`, or `Transient`: then it begins anew. Other types
have their fields `Beside`: the shell keeps those in places of their own, which it can search.

A kept value is written as plain values for JSON. A field that has its default is left out. A type says how it is
written by what it is: a data class as a mapping, a NamedTuple as a list, one of several NamedTuples as a list that
begins with its name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from fractions import Fraction
from functools import cache, partial
from types import NoneType, UnionType
from typing import Annotated, Any, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")
Plain = dict[str, Any]  # values for JSON


class Lasts(Enum):
    """Whether a field outlives a restart."""

    KEPT = "kept"
    TRANSIENT = "transient"
    BESIDE = "beside"


Kept = Annotated[T, Lasts.KEPT]
Transient = Annotated[T, Lasts.TRANSIENT]
Beside = Annotated[T, Lasts.BESIDE]


class Form(NamedTuple):
    """How a value that is not None is written, and read again. None: as it is."""

    write: Callable[[Any], Any] | None = None
    read: Callable[[Any], Any] | None = None


AS_IT_IS = Form()


class KeptField(NamedTuple):
    """A field that outlives a restart. `within`: the value is there, and has fields beside; it gets its others."""

    name: str
    default: Any
    write: Callable[[Any], Any] | None
    read: Callable[[Any], Any] | None
    within: bool


def lasts(kind: type) -> dict[str, Lasts | None]:
    """Return whether each field of a type outlives a restart; None: it does not say."""
    hints = get_type_hints(kind, include_extras=True)
    return {each.name: _said(hints[each.name], Lasts) for each in fields(kind)}


@cache
def kept_fields(kind: Any) -> tuple[KeptField, ...]:
    """Return the fields of a type that are kept, in order."""
    hints = get_type_hints(kind, include_extras=True)
    return tuple(_kept(each, hints[each.name]) for each in fields(kind) if _said(hints[each.name], Lasts) is Lasts.KEPT)


def _kept(field: Field[Any], hint: Any) -> KeptField:
    default = field.default if field.default_factory is MISSING else field.default_factory()
    classes = [each for each in (hint.__origin__, *get_args(hint.__origin__)) if isinstance(each, type)]
    within = any(Lasts.BESIDE in lasts(each).values() for each in classes if is_dataclass(each))
    return KeptField(field.name, default, *_form(hint), within)


def to_plain(value: Any) -> Plain:
    """Return what is kept of a value, as plain values."""
    plain = {}
    for name, default, write, _, within in kept_fields(value.__class__):
        kept = getattr(value, name)
        if kept != default:
            written = kept if write is None or kept is None else write(kept)
            if written or not within:
                plain[name] = written
    return plain


def restore(value: T, plain: Mapping[str, Any]) -> T:
    """Give a value what was kept of it, and return it."""
    for name, _, _, read, within in kept_fields(type(value)):  # type: ignore[arg-type]
        if name in plain:
            kept = plain[name]
            if within:
                restore(getattr(value, name), kept)
            else:
                setattr(value, name, kept if read is None or kept is None else read(kept))
    return value


def from_plain(kind: Callable[..., T], plain: Mapping[str, Any]) -> T:
    """Return the value that was kept as this. It has no other fields."""
    known = [each for each in kept_fields(kind) if each.name in plain]
    values = _each([each.read for each in known], [plain[each.name] for each in known])
    return kind(**dict(zip((each.name for each in known), values, strict=True)))


def _said(hint: Any, what: type[T]) -> T | None:
    """Return what an annotation says of this kind."""
    return next((said for said in getattr(hint, "__metadata__", ()) if isinstance(said, what)), None)


# How types are written


def _form(hint: Any) -> Form:
    """Return how values of a type are written."""
    if get_origin(hint) is Annotated:
        return _said(hint, Form) or _form(get_args(hint)[0])
    if get_origin(hint) in (Union, UnionType):
        return _of_union([each for each in get_args(hint) if each is not NoneType])
    if isinstance(hint, type):
        return _of_class(hint)
    return _of_many(hint)


def _of_union(kinds: list[Any]) -> Form:
    if Fraction in kinds:
        return Form(str, Fraction)
    if all(hasattr(kind, "_fields") for kind in kinds) and len(kinds) > 1:
        ways = {kind.__name__: _of_tuple(kind) for kind in kinds}
        return Form(
            lambda value: [type(value).__name__, *ways[type(value).__name__][0](value)],
            lambda plain: ways[plain[0]][1](plain[1:]),
        )
    [form, *others] = map(_form, kinds)
    assert all(other == form for other in others), kinds
    return form


def _of_class(kind: type) -> Form:
    if issubclass(kind, Enum):
        return Form(None, kind)
    if is_dataclass(kind):
        return Form(to_plain, partial(from_plain, kind))
    if hasattr(kind, "_fields"):
        return Form(*_of_tuple(kind))
    assert kind in (int, float, str, bool), kind
    return AS_IT_IS


def _of_tuple(kind: Any) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """Return how a NamedTuple is written, and read again."""
    hints = get_type_hints(kind, include_extras=True)
    forms = [_form(hints[name]) for name in kind._fields]
    writes, reads = [form.write for form in forms], [form.read for form in forms]
    return partial(_each, writes), lambda plain: kind(*_each(reads, plain))


def _of_many(hint: Any) -> Form:
    """Return how a mapping, or a tuple, is written."""
    kind, parts = get_origin(hint), get_args(hint)
    if kind is tuple:
        forms = [_form(part) for part in parts if part is not Ellipsis]
        assert all(form == AS_IT_IS for form in forms), hint
        return Form(list, tuple)
    assert issubclass(kind, Mapping), hint
    write, read = _form(parts[1])
    return Form(partial(_of_each, write), partial(_of_each, read))


def _each(converts: list[Callable[[Any], Any] | None], values: Any) -> list[Any]:
    return [
        value if convert is None or value is None else convert(value)
        for convert, value in zip(converts, values, strict=False)
    ]  # one that an earlier version has written may lack the last ones


def _of_each(convert: Callable[[Any], Any] | None, values: Mapping[str, Any]) -> dict[str, Any]:
    return dict(zip(values, _each([convert] * len(values), values.values()), strict=True))
