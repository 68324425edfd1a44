"""Calls a function of C from a kernel, by its address."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


@intrinsic  # type: ignore[untyped-decorator]
def call(_: Any, address: Any, one: Any, two: Any, three: Any) -> Any:  # noqa: ARG001  (numba goes by the names)
    """Return what the function at this address returns for three doubles, a double."""

    def code(_: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        double = ir.DoubleType()
        function = ir.FunctionType(double, [double] * 3).as_pointer()
        return builder.call(builder.inttoptr(arguments[0], function), arguments[1:])

    return types.float64(types.int64, types.float64, types.float64, types.float64), code
