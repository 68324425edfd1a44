"""Backfilling by name (scheduling.md, One scheduling iteration, 3)."""

from __future__ import annotations

from cosched.core.kernel import tables

BACKFILLING = {"easy": tables.EASY, "conservative": tables.CONSERVATIVE, "none": tables.NO_BACKFILL}
