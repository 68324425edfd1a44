"""Values of kept types, drawn from what the types say of their fields."""

from __future__ import annotations

from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from fractions import Fraction
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from hypothesis import strategies as st

from cosched.core.kept import Lasts, lasts

NUMBERS = st.integers(0, 1 << 62)
TEXTS = st.text(max_size=5)
PLAIN: dict[type, st.SearchStrategy] = {
    int: NUMBERS, str: TEXTS, bool: st.booleans(), float: st.floats(0, 1e10), NoneType: st.none(),
    Fraction: st.fractions(min_value=Fraction(1, 99), max_denominator=99),
}  # fmt: skip


def values(kind: Any, **given: Any) -> st.SearchStrategy:
    """Values of a data class: any of its kept fields; the others are as given, or have their defaults."""
    hints = get_type_hints(kind, include_extras=True)
    kept = {name for name, lasting in lasts(kind).items() if lasting is Lasts.KEPT} - given.keys()
    needed = {each.name for each in fields(kind) if each.default is each.default_factory is MISSING}
    drawn = {name: of(hints[name]) for name in kept}
    return st.fixed_dictionaries(
        {name: drawn[name] for name in kept & needed}, optional={name: drawn[name] for name in kept - needed}
    ).map(lambda made: kind(**made, **given))


def of(hint: Any) -> st.SearchStrategy:
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return of(parts[0])
    if origin in (Union, UnionType):
        return st.one_of(*map(of, parts))
    if origin is tuple:
        return st.lists(of(parts[0]), max_size=3).map(tuple) if Ellipsis in parts else st.tuples(*map(of, parts))
    if origin is not None:
        return st.dictionaries(of(parts[0]), of(parts[1]), max_size=2)
    if hint in PLAIN:
        return PLAIN[hint]
    if issubclass(hint, Enum):
        return st.sampled_from(hint)
    if is_dataclass(hint):
        return values(hint)
    hints = get_type_hints(hint, include_extras=True)
    return st.builds(hint, *(of(hints[name]) for name in hint._fields))
