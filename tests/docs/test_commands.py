"""Every cosched command that a page shows exists, and has the options that it is given."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from cosched.cli.client.columns import ColumnOptions
from cosched.cli.main import main

TOP = Path(__file__).resolve().parents[2]
PAGES = [*TOP.glob("*.md"), *(TOP / "docs").glob("*.md"), *(TOP / "deploy").rglob("*.md")]
FENCED = re.compile(r"^```\w*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
IN_A_BLOCK = re.compile(r"^ {4,}(?:\S+ -- |until )?(?:\S*/)?cosched ([a-z].*)$", re.MULTILINE)
IN_A_LINE = re.compile(r"`cosched ([a-z][^`]*)`")
END = {"|", ">", "2>", "&", "&&", ";", "||", "<", ">>", "2>>", "#"}


OF_EXAMPLES = {"boosts"}  # a study that is not installed here; another test installs and runs it


def shown(page: Path) -> Iterator[list[str]]:
    """The words after `cosched` of each command."""
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    text = FENCED.sub(lambda block: re.sub("^", "    ", block[1], flags=re.MULTILINE), text)
    for found in [*IN_A_BLOCK.findall(text), *IN_A_LINE.findall(text)]:
        words = shlex.split(" ".join(found.split()), comments=True)
        cut = next((place for place, word in enumerate(words) if word in END or word.endswith(";")), len(words))
        yield words[:cut]


def unknown(words: list[str]) -> str:
    """The first word that no command of ours knows; empty if there is none."""
    command: click.Command = main
    context = click.Context(main, **main.context_settings)
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        name, *words = words
        below = command.get_command(context, name)
        if below is None:
            return "" if name in OF_EXAMPLES else name
        command, context = below, click.Context(below, parent=context, **below.context_settings)
    if isinstance(command, ColumnOptions):
        command.add_columns()
    known = {option for parameter in command.get_params(context) for option in parameter.opts}
    if not context.allow_interspersed_args:
        words = _before_arguments(words, command.get_params(context))
    given = (word.partition("=")[0] for word in words if re.match(r"--?[A-Za-z]", word))
    return next((option for option in given if option not in known), "")


def _before_arguments(words: list[str], parameters: list[click.Parameter]) -> list[str]:
    """The words before the first argument: those after it are another program's."""
    options = [parameter for parameter in parameters if isinstance(parameter, click.Option) and not parameter.is_flag]
    with_value = {name for option in options for name in option.opts}
    place = 0
    while place < len(words) and words[place].startswith("-"):
        place += 2 if words[place] in with_value else 1
    return words[:place]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(TOP)))
def test_commands_and_options_exist(page):
    assert {" ".join(words): word for words in shown(page) if (word := unknown(words))} == {}


def test_many_are_found():
    assert sum(1 for page in PAGES for _ in shown(page)) > 150
