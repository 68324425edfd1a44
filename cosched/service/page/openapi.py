"""The OpenAPI description of the JSON interface: its schemas are those of the client's views."""

from __future__ import annotations

import types
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Union, get_args, get_origin, get_type_hints

from cosched.client.fields import Field
from cosched.client.view import View

Schema = dict[str, Any]
_PLAIN: Mapping[Any, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    datetime: {"type": "string", "format": "date-time"},
    timedelta: {"type": "number", "description": "in seconds"},
}


def schemas(views: Iterable[type[View[Any]]]) -> dict[str, Schema]:
    """Return the schemas of these views, and of those that they consist of, by name."""
    found: dict[str, Schema] = {}
    for view in views:
        _add(view, found)
    return found


def reference(view: type[View[Any]]) -> Schema:
    """Return the reference to a view's schema."""
    return {"$ref": f"#/components/schemas/{view.__name__}"}


def _add(view: type[View[Any]], found: dict[str, Schema]) -> None:
    if view.__name__ in found:
        return
    properties: dict[str, Schema] = {}
    schema: Schema = {"type": "object", "description": (view.__doc__ or "").strip(), "properties": properties}
    found[view.__name__] = schema
    for name, attribute in vars(view).items():
        if isinstance(attribute, property) and attribute.fget is not None:
            kind = attribute.kind if isinstance(attribute, Field) else get_type_hints(attribute.fget)["return"]
            told = {"description": " ".join((attribute.__doc__ or "").split())}
            properties[name] = told | _schema(kind, found)
    schema["required"] = list(properties)


def _schema(kind: Any, found: dict[str, Schema]) -> Schema:
    if kind in _PLAIN:
        return dict(_PLAIN[kind])
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (types.UnionType, Union):
        return {"anyOf": [_schema(part, found) for part in parts if part is not type(None)] + [{"type": "null"}]}
    if origin is tuple:
        return {"type": "array", "items": _schema(parts[0], found)}
    if isinstance(kind, type) and issubclass(kind, View):
        _add(kind, found)
        return reference(kind)
    return {"type": "object"}
