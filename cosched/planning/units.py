"""Quantities as users write them: numbers in the unit of the key, or texts with a number and a unit."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated

from pydantic import BeforeValidator, Field

from cosched.validation.text import shown

_QUANTITY = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)\s*([A-Za-z/]*)\s*")


def _in(units: Mapping[str, float]) -> BeforeValidator:
    """Return a validator for numbers in the first of these units, and for texts in any of them."""

    def convert(value: object) -> object:
        if isinstance(value, bool):
            raise ValueError(f"a number is expected, not {str(value).lower()}")
        if not isinstance(value, str):
            return value
        found = _QUANTITY.fullmatch(value)
        if found is None or found[2] not in units:
            of_units = f" of {', '.join(units)}" if units else ""
            raise ValueError(f"{shown(value)} is not a number{of_units}")
        return float(found[1]) * units[found[2]]

    return BeforeValidator(convert)


Speed = Annotated[float, _in({"MHz": 1, "GHz": 1e3}), Field(gt=0, allow_inf_nan=False)]
Memory = Annotated[float, _in({"MB": 1, "GB": 1 << 10, "TB": 1 << 20}), Field(ge=0, allow_inf_nan=False)]  # 2^20 bytes
Bandwidth = Annotated[float, _in({"Mb/s": 1, "kb/s": 1e-3, "Gb/s": 1e3}), Field(gt=0, allow_inf_nan=False)]
Latency = Annotated[float, _in({"s": 1, "ms": 1e-3, "us": 1e-6}), Field(ge=0, allow_inf_nan=False)]
Share = Annotated[float, _in({}), Field(ge=0, le=1, allow_inf_nan=False)]
