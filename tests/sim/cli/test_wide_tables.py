"""Tables wider than a terminal: every value is there in whole, in lines that are not too long."""

import io

import pytest
from rich.console import Console

from cosched.cli.output.wide_tables import fitted
from cosched_sim.commands.tables import new_table

NUMBERS = [f"{number:,} ± 1,234.5 min" for number in range(10_000, 10_008)]


def shown(table, width):
    page = io.StringIO()
    console = Console(file=page, width=width)
    for part in fitted(table, console):
        console.print(part)
    return [line.rstrip() for line in page.getvalue().splitlines()]


@pytest.fixture
def table():
    found = new_table("scheme", "machine", *(f"measure\nno. {number}" for number in range(8)), left=2)
    found.add_row("hold-yield", "intrepid", *NUMBERS)
    found.add_row("", "eureka", *NUMBERS[::-1])
    return found


@pytest.mark.parametrize("width", [45, 80, 120])
def test_numbers_go_below_one_another_each_beside_its_machine(table, width):
    lines = shown(table, width)
    assert max(map(len, lines)) <= width
    for name, numbers in (("intrepid", NUMBERS), ("eureka", NUMBERS[::-1])):
        of_it = "  ".join(line.partition(name)[2].strip() for line in lines if name in line)
        assert of_it.split("  ") == numbers


def test_a_table_that_fits_is_left_alone(table):
    assert list(fitted(table, Console(width=300))) == [table]


def test_text_is_folded_not_cut():
    table = new_table("", "paper", left=2)
    table.add_row("V-B  " + "Without the release timer, hold-hold is likely to deadlock " * 3, "yes")
    assert " ".join(shown(table, 80)).split().count("deadlock") == 3
    assert max(map(len, shown(table, 80))) <= 80
