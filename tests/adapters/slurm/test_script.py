"""`#SBATCH` lines; tests/slurm/test_submit.py compares with what sbatch makes of them."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched_adapters.slurm.script import Asked, read_script

LINE = st.text(st.characters(codec="utf-8", exclude_characters="\n\0"))


def read(*lines: str, **environment: str) -> Asked:
    return read_script("\n".join(["#!/bin/sh", *lines, "true", ""]).encode("utf-8", "surrogateescape"), environment)


@given(LINE.filter(lambda text: "\\" not in text))
def test_a_quoted_comment_is_read_as_it_is(text: str) -> None:
    for quote in "'", '"':
        quoted = quote + text.replace(quote, f"\\{quote}") + quote
        assert read(f"#SBATCH -N1 --comment={quoted} -H # --comment=no").comment == text


@given(st.lists(LINE))
def test_any_script_is_read(lines: list[str]) -> None:
    assert not read_script("\n".join(lines).encode(), {}).no_requeue
    read(*(f"#SBATCH {line}" for line in lines))


def test_a_script_that_asks_nothing() -> None:
    assert read() == read("# SBATCH --comment=x", " #SBATCH --comment=x", "#COSCHED --comment=x") == Asked()


def test_lines_end_at_the_first_command() -> None:
    assert read("cd /tmp", "#SBATCH --comment=x --array=1-2", "#SBATCH hetjob").comment == ""
    assert read("", "   # words", "#SBATCH --comment=x").comment == "x"


def test_bytes_that_are_no_text_are_kept() -> None:
    assert read("#SBATCH --comment=\udcff").comment == "\udcff"


@pytest.mark.parametrize("words", ["--comment=b", "--comment b", "--com=b", "--comm b", "--comment=a --comment=b"])
def test_the_last_comment_counts(words: str) -> None:
    assert read("#SBATCH --comment=first", f"#SBATCH {words}").comment == "b"


@pytest.mark.parametrize("words", ["--array=1-2", "--array 0", "-a 1", "-a1", "-Ha1-2", "--arr=1"])
def test_arrays(words: str) -> None:
    assert read(f"#SBATCH {words}").array


@pytest.mark.parametrize("words", ["--account=a", "-A a", "--array=", "-N1 --acctg-freq=1", "-J all"])
def test_no_arrays(words: str) -> None:
    assert not read(f"#SBATCH {words}").array


@pytest.mark.parametrize(
    ("words", "minutes"),
    [
        ("--time=10", 10), ("-t 90:01", 91), ("-Ht2:00:00", 120), ("--time 1-0", 1440), ("-t1-01:30", 1530),
        ("-t 1-01:30:01", 1531), ("--time=UNLIMITED", None), ("--time-min=5", None), ("--tmp=5", None), ("-t0", 0),
    ],
)  # fmt: skip
def test_time_limits_are_those_of_sbatch(words: str, minutes: int | None) -> None:
    assert read(f"#SBATCH {words}").time_limit == minutes


def test_heterogeneous_jobs() -> None:
    assert read("#SBATCH -n1", "#SBATCH hetjob", "#SBATCH -n2").het
    assert read("#SBATCH packjob").het
    assert not read("#SBATCH -J hetjob # hetjob").het


def test_each_component_has_a_comment_of_its_own() -> None:
    found = read("#SBATCH --comment=a", "#SBATCH hetjob", "#SBATCH --comment=b", "#SBATCH hetjob", "#SBATCH -n2")
    assert (found.comment, found.others) == ("a", ("b",))


def test_the_last_word_about_requeues_counts() -> None:
    assert read("#SBATCH --no-requeue").no_requeue
    assert not read("#SBATCH --no-requeue --requeue").no_requeue
    assert read("#SBATCH --requeue", "#SBATCH --no-req").no_requeue


def test_the_environment_wins() -> None:
    assert read(SBATCH_ARRAY_INX="1-3").array
    assert not read("#SBATCH --array=1-3", SBATCH_ARRAY_INX="").array
    assert read("#SBATCH --requeue", SBATCH_NO_REQUEUE="").no_requeue
    assert not read("#SBATCH --no-requeue", SBATCH_REQUEUE="1").no_requeue


def test_words_are_split_as_by_a_shell() -> None:
    text = """it's "a" b"""
    assert read(f"#SBATCH {shlex.quote('--comment=a b')}").comment == "a b"
    assert read('#SBATCH --comment="it\'s \\"a\\" b"').comment == text
    assert read("#SBATCH --comment=a\\ b#c").comment == "a b"
