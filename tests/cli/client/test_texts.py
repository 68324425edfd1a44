"""Time limits, names of nodes, tables and directives: what must hold for all of them."""

import shlex
from contextlib import suppress

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.cli.client.directives import read_directives
from cosched.cli.client.spans import SPAN
from cosched.cli.client.submit import directive
from cosched.cli.client.time_limits import LONGEST, parse_time_limit
from cosched.cli.output.plain_text import cut, printable, table
from cosched.client.node_names import fold
from cosched.validation.durations import clock
from cosched.words.errors import InputError
from cosched_adapters.slurm.hostlists import expand


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 5_400), ("5:30", 330), ("0:01", 1), ("1:00:00", 3_600), ("100:00", 6_000), ("2-12", 216_000),
        ("1-2:03", 93_780), ("1-02:03:04", 93_784), (" 1 ", 60), ("90s", 90), ("2m", 120), ("1h", 3_600),
        (" 3d ", 259_200), ("2w", 1_209_600),
    ],
)  # fmt: skip
def test_times(text, seconds):
    assert parse_time_limit(text) == seconds


@pytest.mark.parametrize(
    "text",
    [
        "", "0", "0:00", "-1", "1:60", "1:00:60", "1-24", "1-", "1.5h", "0s", "h", "1:00h", "1.5", "1:2:3:4",
        "9" * 9 + "-0", "١", "1-2-3",
    ],
)  # fmt: skip
def test_times_that_are_none(text):
    with pytest.raises(ValueError, match=r"is not|has a part"):
        parse_time_limit(text)


@pytest.mark.parametrize(("text", "seconds"), [("90", 90), ("1h", 3_600), ("1:00:00", 3_600), ("1-12", 129_600)])
def test_spans_have_the_same_grammar_but_for_a_number_alone(text, seconds):
    assert SPAN.convert(text, None, None) == seconds


@given(st.integers(1, LONGEST))
def test_a_time_reads_as_it_is_written(seconds):
    assert parse_time_limit(clock(seconds)) == seconds


@given(st.text("0123456789:- ", max_size=12) | st.text(max_size=8))
def test_any_text_is_a_time_or_refused(text):
    with suppress(ValueError):
        assert 1 <= parse_time_limit(text) <= LONGEST


@given(st.lists(st.from_regex(r"[a-z]{1,2}(-?[0-9]{1,3})?", fullmatch=True), unique=True))
def test_folded_names_are_all_there(given_names):
    assert sorted(expand(fold(given_names))) == sorted(given_names)


def test_folding():
    assert fold(["n3", "n1", "n2", "n7", "gpu", "m09", "m10"]) == "gpu,m[09-10],n[1-3,7]"
    assert fold([]) == ""


@given(st.text())
def test_what_is_shown_is_printable(text):
    assert printable(text).isprintable()


@given(st.text("ab", max_size=50))
def test_a_cut_text_is_short(text):
    assert len(cut(text, 10)) <= 10
    assert cut(text, 10)[:9] == text[:9]


@given(st.lists(st.tuples(*[st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1)] * 3)))
def test_a_table_has_all_cells(rows):
    lines = table(("A", "B", "C"), rows, numbers=("B",)).split("\n")
    assert [tuple(line.split()) for line in lines] == [("A", "B", "C"), *rows]


OPTIONS = {option.name for option in directive.params}


@click.command(add_help_option=False)
@click.option("--name")
@click.option("--hold", is_flag=True)
def options(**_):
    """Options that take any text."""


@given(st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"])))
def test_a_quoted_value_is_read_as_it_was(value):
    text = value.strip()
    script = f"#!/bin/sh\n#COSCHED {shlex.join(['--name', text or '-'])}\ntrue\n"
    assert read_directives(script.encode(), "job.sh", options) == {"name": text or "-"}


@given(st.lists(st.binary() | st.text("#COSCHED -=Nt\"'\\\n").map(str.encode)).map(b"\n#COSCHED ".join))
def test_any_script_has_directives_or_a_line_that_is_wrong(script):
    with suppress(InputError):
        assert read_directives(b"#!/bin/sh\n" + script, "job.sh", directive).keys() <= OPTIONS
