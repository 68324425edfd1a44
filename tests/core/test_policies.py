"""Orderings by name and by expression; node pools; nothing of an expression is run as Python."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.core.scheduling.policies.expression import compile_expression
from cosched.core.scheduling.policies.ordering import parse_ordering
from cosched.core.scheduling.pools import INTREPID, Partitions, parse_node_pool
from cosched.core.scheduling.primitives import codes
from cosched.core.scheduling.primitives.expression import CONSTANTS, OPERATIONS, evaluate


def value(text: str, wait: float = 7.0, requested: float = 3.0, nodes: float = 2.0) -> float:
    program = compile_expression(text)
    table = np.zeros((3, codes.MAX_PROGRAM))
    table[OPERATIONS, : len(program.operations)] = program.operations
    table[CONSTANTS, : len(program.constants)] = program.constants
    return evaluate(table, wait, requested, nodes)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("wait", 7),
        ("wait - requested - nodes", 2),  # left to right
        ("wait / requested * nodes", 7 / 3 * 2),
        ("2 ** 3 ** 2", 512),  # right to left
        ("-2 ** 2", -4),
        ("2 ^ -1", 0.5),
        ("(wait + 1) * nodes", 16),
        ("min(wait, requested) + max(1.5, .5)", 4.5),
        ("sqrt(wait + nodes) * abs(-2)", 6),
        ("exp(0) + log(1)", 1),
        ("1e3 + 2.5E-1", 1000.25),
        ("1 / 0", math.inf),
        ("log(0)", -math.inf),
    ],
)
def test_an_expression_means_what_arithmetic_says(text, expected):
    assert value(text) == expected


@pytest.mark.parametrize("text", ["sqrt(-1)", "log(-1)", "0 / 0"])
def test_what_has_no_value_is_not_a_number(text):
    assert math.isnan(value(text))


expressions = st.recursive(
    st.sampled_from(["wait", "requested", "nodes", "2", "0.5"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*"]), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        st.tuples(st.sampled_from(["min", "max"]), inner, inner).map(lambda t: f"{t[0]}({t[1]}, {t[2]})"),
        inner.map(lambda text: f"-{text}"),
    ),
    max_leaves=12,
)


@given(expressions)
def test_an_expression_agrees_with_python_arithmetic(text):
    names = {"wait": 7.0, "requested": 3.0, "nodes": 2.0, "min": min, "max": max}
    assert value(text) == pytest.approx(eval(text, {"__builtins__": {}}, names))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "expected at its end"),
        ("wait +", "expected at its end"),
        ("wait requested", "unexpected 'requested'"),
        ("(wait", "')' expected at its end"),
        ("min(wait)", "',' expected instead of ')'"),
        ("__import__('os')", 'unexpected "\'"'),
        ("user * 2", "expected instead of 'user'"),
        ("wait.real", "unexpected '.'"),
        ("wait; nodes", "unexpected ';'"),
        ("(" * 40 + "wait" + ")" * 40, "nested more than 32 deep"),
        ("-" * 60 + "wait", "nested more than 32 deep"),
        ("+".join(["wait"] * 40), "more than 63 operations"),
    ],
)
def test_what_is_no_expression_is_refused_with_the_place(text, reason):
    with pytest.raises(ValueError, match=": ") as error:
        compile_expression(text)
    assert reason in str(error.value)


def test_a_long_hostile_expression_is_refused_quickly():
    with pytest.raises(ValueError, match="nested more than"):
        compile_expression("(" * 100_000)


def test_orderings_by_name():
    assert parse_ordering("fcfs").code == codes.FCFS
    assert parse_ordering("wfp").code == codes.WFP
    assert parse_ordering("nodes").code == codes.EXPRESSION
    with pytest.raises(ValueError, match="no policy 'sjf': it is one of fcfs, wfp"):
        parse_ordering("sjf")


class TestNodePools:
    def test_intrepid_has_80_midplanes_of_512_nodes_in_blocks_of_parts_of_rows_rows_and_the_machine(self):
        """scheduling.md: "its blocks are 1, 2, 4, 8 or 16 midplanes aligned within a row, 2 rows, 4 rows, or the
        whole machine"."""
        assert parse_node_pool("partitioned:intrepid") == INTREPID
        assert INTREPID.nodes == 40_960
        assert [size // 512 for size in INTREPID.sizes] == [1, 2, 4, 8, 16, 32, 64, 80]

    def test_sizes_are_rounded_up_to_the_machines_partition_sizes(self):
        sizes = INTREPID.round_up(np.array([1, 512, 513, 2049, 8192, 32_769, 40_960]))
        assert sizes.tolist() == [512, 512, 1024, 4096, 8192, 40_960, 40_960]

    def test_any_machine_of_equal_units(self):
        assert parse_node_pool("partitioned:96x512") == Partitions(96, 512)
        assert parse_node_pool("flat") is None

    @pytest.mark.parametrize(
        "text", ["", "flat:2", "partitioned", "partitioned:", "partitioned:0x4", "partitioned:4x0", "x"]
    )
    def test_anything_else_is_refused(self, text):
        with pytest.raises(ValueError, match="neither flat, partitioned:intrepid nor partitioned:UNITSxNODES"):
            parse_node_pool(text)
