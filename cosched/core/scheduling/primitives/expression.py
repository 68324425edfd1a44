"""Evaluates a user's policy expression, compiled to a postfix program by `policies.expression`."""

from __future__ import annotations

import math
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from cosched.core.scheduling.primitives.codes import (
    ABSOLUTE,
    ADD,
    CALL,
    CONSTANT,
    DIVIDE,
    EXPONENTIAL,
    LOGARITHM,
    MINIMUM,
    MULTIPLY,
    NEGATE,
    NODES,
    POWER,
    REQUESTED,
    SQUARE_ROOT,
    STOP,
    SUBTRACT,
    WAIT,
)
from cosched.core.scheduling.primitives.compiled import kernel

OPERATIONS, CONSTANTS, STACK = range(3)


@intrinsic  # type: ignore[untyped-decorator]
def call(_: Any, address: Any, one: Any, two: Any, three: Any) -> Any:  # noqa: ARG001  (numba goes by the names)
    """Return what the function of C at this address returns for three doubles, a double."""

    def code(_: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        double = ir.DoubleType()
        function = ir.FunctionType(double, [double] * 3).as_pointer()
        return builder.call(builder.inttoptr(arguments[0], function), arguments[1:])

    return types.float64(types.int64, types.float64, types.float64, types.float64), code


@kernel
def evaluate(program: Any, wait: float, requested: float, nodes: float) -> float:
    """The score that `program` gives to a job that waited `wait` s, asked for `requested` s and `nodes` nodes."""
    stack = program[STACK]
    top = -1
    for i in range(len(stack)):
        operation = int(program[OPERATIONS, i])
        if operation == STOP:
            break
        if operation <= NODES:
            top += 1
            stack[top] = _operand(operation, program[CONSTANTS, i], wait, requested, nodes)
        elif operation == CALL:
            top += 1
            stack[top] = call(int(program[CONSTANTS, i]), wait, requested, nodes)
        elif operation == NEGATE or operation >= SQUARE_ROOT:
            stack[top] = _unary(operation, stack[top])
        else:
            top -= 1
            stack[top] = _binary(operation, stack[top], stack[top + 1])
    return stack[0]


@kernel
def _operand(operation: int, constant: float, wait: float, requested: float, nodes: float) -> float:
    if operation == CONSTANT:
        return constant
    if operation == WAIT:
        return wait
    if operation == REQUESTED:
        return requested
    return nodes


@kernel
def _unary(operation: int, a: float) -> float:
    if operation == NEGATE:
        return -a
    if operation == ABSOLUTE:
        return abs(a)
    if operation == EXPONENTIAL:
        return math.exp(a)
    if operation == LOGARITHM:
        return math.log(a) if a > 0.0 else (-math.inf if a == 0.0 else math.nan)
    return math.sqrt(a) if a >= 0.0 else math.nan


@kernel
def _binary(operation: int, a: float, b: float) -> float:
    if operation == ADD:
        return a + b
    if operation == SUBTRACT:
        return a - b
    if operation == MULTIPLY:
        return a * b
    if operation == DIVIDE:
        return a / b
    if operation == POWER:
        return a**b
    if operation == MINIMUM:
        return min(a, b)
    return max(a, b)
