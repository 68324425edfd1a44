"""sqlite-utils, without pandas, which it imports where that is installed: half a second of a service's start."""

from __future__ import annotations

from cosched.needless import without

with without("pandas"):
    from sqlite_utils import Database, Migrations

__all__ = ["Database", "Migrations"]
