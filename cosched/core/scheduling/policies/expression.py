"""A user's policy expression, parsed by a small grammar into a postfix program; nothing of it is run as Python.

sum     = product (("+" | "-") product)*
product = signed (("*" | "/") signed)*
signed  = "-" signed | power
power   = atom (("**" | "^") signed)?
atom    = number | wait | requested | nodes | name "(" sum ("," sum)* ")" | "(" sum ")"
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from cosched.core.scheduling.primitives import codes as op
from cosched.core.scheduling.primitives.codes import MAX_PROGRAM

VARIABLES = {"wait": op.WAIT, "requested": op.REQUESTED, "nodes": op.NODES}
FUNCTIONS = {  # name: (operation, number of arguments)
    "min": (op.MINIMUM, 2),
    "max": (op.MAXIMUM, 2),
    "sqrt": (op.SQUARE_ROOT, 1),
    "log": (op.LOGARITHM, 1),
    "exp": (op.EXPONENTIAL, 1),
    "abs": (op.ABSOLUTE, 1),
}
SUMS = {"+": op.ADD, "-": op.SUBTRACT}
PRODUCTS = {"*": op.MULTIPLY, "/": op.DIVIDE}
POWERS = ("**", "^")
MAX_DEPTH = 32

_TOKEN = re.compile(r"\s*(?:(\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)|([A-Za-z_]\w*)|(\*\*|[-+*/^(),]))")


@dataclass(frozen=True, slots=True)
class Program:
    """Operations and their constants, in postfix order (kernel `expression`)."""

    operations: tuple[int, ...]
    constants: tuple[float, ...]


def compile_expression(text: str) -> Program:
    """Return the program of `text`; ValueError names the place where it is not an expression."""
    parser = _Parser(text, _tokens(text))
    parser.sum(0)
    if parser.peek():
        raise ValueError(f"{text!r}: unexpected {parser.peek()!r}")
    if len(parser.operations) >= MAX_PROGRAM:
        raise ValueError(f"{text!r}: more than {MAX_PROGRAM - 1} operations")
    return Program(tuple(parser.operations), tuple(parser.constants))


def _tokens(text: str) -> list[str]:
    tokens, at = [], 0
    stripped = text.rstrip()
    while at < len(stripped):
        match = _TOKEN.match(stripped, at)
        if match is None:
            raise ValueError(f"{text!r}: unexpected {stripped[at:].lstrip()[0]!r}")
        tokens.append(match.group().strip())
        at = match.end()
    return tokens


@dataclass(slots=True)
class _Parser:
    text: str
    tokens: list[str]
    at: int = 0
    operations: list[int] = field(default_factory=list)
    constants: list[float] = field(default_factory=list)

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self) -> str:
        token = self.peek()
        self.at += 1
        return token

    def expect(self, token: str) -> None:
        if self.peek() != token:
            raise ValueError(f"{self.text!r}: {token!r} expected {self._place()}")
        self.at += 1

    def emit(self, operation: int, constant: float = 0.0) -> None:
        self.operations.append(operation)
        self.constants.append(constant)

    def sum(self, depth: int) -> None:
        self.chain(SUMS, self.product, depth)

    def product(self, depth: int) -> None:
        self.chain(PRODUCTS, self.signed, depth)

    def chain(self, operations: dict[str, int], operand: Callable[[int], None], depth: int) -> None:
        operand(depth)
        while self.peek() in operations:
            operation = operations[self.take()]
            operand(depth)
            self.emit(operation)

    def signed(self, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise ValueError(f"{self.text!r}: nested more than {MAX_DEPTH} deep")
        if self.peek() == "-":
            self.take()
            self.signed(depth + 1)
            self.emit(op.NEGATE)
        else:
            self.power(depth)

    def power(self, depth: int) -> None:
        self.atom(depth)
        if self.peek() in POWERS:
            self.take()
            self.signed(depth + 1)
            self.emit(op.POWER)

    def atom(self, depth: int) -> None:
        token = self.take()
        if token == "(":
            self.sum(depth + 1)
            self.expect(")")
        elif token in VARIABLES:
            self.emit(VARIABLES[token])
        elif token in FUNCTIONS:
            self.call(token, depth)
        elif token[:1].isdigit() or token[:1] == ".":
            self.emit(op.CONSTANT, float(token))
        else:
            self.at -= 1
            wanted = f"a number, {', '.join(VARIABLES)}, or {', '.join(FUNCTIONS)}(...)"
            raise ValueError(f"{self.text!r}: {wanted} expected {self._place()}")

    def call(self, name: str, depth: int) -> None:
        operation, arguments = FUNCTIONS[name]
        self.expect("(")
        self.sum(depth + 1)
        for _ in range(arguments - 1):
            self.expect(",")
            self.sum(depth + 1)
        self.expect(")")
        self.emit(operation)

    def _place(self) -> str:
        return f"instead of {self.peek()!r}" if self.peek() else "at its end"
