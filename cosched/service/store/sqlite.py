"""sqlite-utils, without numpy and pandas, which it imports where they are installed: they take long to load."""

from __future__ import annotations

from cosched.installation.needless import without

with without("pandas"), without("numpy"):
    from sqlite_utils import Database, Migrations

__all__ = ["Database", "Migrations"]
