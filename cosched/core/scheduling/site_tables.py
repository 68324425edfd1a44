"""What a scheduler knows of its site, in tables as they are on record (Collins and George 2001, figure 1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Row = tuple[str | int | float | None, ...]  # a value for each column of its table
SiteTables = Mapping[str, Sequence[Row]]  # rows by the name of their table, see cosched/service/store/site_schema.py
