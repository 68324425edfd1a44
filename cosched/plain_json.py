"""Values for JSON, as commands with `--json` and the JSON interface write them."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any


def json_value(value: Any) -> Any:
    """Convert a value for JSON: instants to ISO 8601 in UTC, durations to seconds."""
    if isinstance(value, dict):
        return {key: json_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(item) for item in value]
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    return value.total_seconds() if isinstance(value, timedelta) else value
