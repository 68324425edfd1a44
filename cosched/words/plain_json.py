"""Values for JSON, as commands with `--json`, the JSON interface and summaries write them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any


def json_value(value: Any) -> Any:
    """Convert a value for JSON: instants to ISO 8601 in UTC, durations to seconds, what has `as_dict` by that.

    Exact numbers become floats, and values of types that JSON does not have become text. It has no number without
    end either: that is None.
    """
    if isinstance(value, Mapping):
        return {key: json_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | int) else _converted(value)


def _converted(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, timedelta):
        return value.total_seconds()
    if hasattr(value, "as_dict"):
        return json_value(value.as_dict())
    from decimal import Decimal  # slow: answers of services have none of these
    from fractions import Fraction

    if isinstance(value, Decimal | Fraction):
        return json_value(float(value))
    return json_value(value.tolist()) if hasattr(value, "tolist") else str(value)  # the numbers and arrays of numpy
