"""Backfilling by name (scheduling.md, One scheduling iteration, 3)."""

from __future__ import annotations

from cosched.core.scheduling.primitives import codes

BACKFILLING = {"easy": codes.EASY, "conservative": codes.CONSERVATIVE, "none": codes.NO_BACKFILL}
