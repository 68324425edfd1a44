"""What an option of the plugin names."""

from __future__ import annotations

import importlib
from importlib.metadata import entry_points
from typing import Any

import pytest


def named(group: str, name: str) -> Any:
    """Return what `MODULE:NAME` is, or the entry point of this name; UsageError."""
    module, colon, attribute = name.partition(":")
    if colon:
        try:
            return getattr(importlib.import_module(module), attribute)
        except (ImportError, AttributeError) as error:
            raise pytest.UsageError(f"{name}: {error}") from None
    found = {point.name: point for point in entry_points(group=group)}
    if name not in found:
        raise pytest.UsageError(f"no entry point {name} of the group {group} (installed: {', '.join(found) or 'none'})")
    return found[name].load()
