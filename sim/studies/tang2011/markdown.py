"""The paper's numbers and claims beside ours, in Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from polars import DataFrame

from cosched.sim.studies.means import in_columns
from cosched.sim.studies.statements import Checked, Compared, claims_in_markdown, numbers_in_markdown
from cosched.sim.studies.tang2011.paper.statement import Statement
from cosched.sim.studies.tang2011.tables import heads_in_words, in_words
from cosched.sim.studies.tang2011.words import AGREEMENT, PAPER, PROPERTIES, left_out, replications


def paper_in_markdown(
    said: dict[str, Any], numbers: Sequence[Compared[Statement]], claims: Sequence[Checked], properties: DataFrame
) -> str:
    """Return the content of paper.md."""
    return "\n".join([*_head(said), *_numbers(numbers), *_properties(properties), *claims_in_markdown(claims)]) + "\n"


def _head(said: dict[str, Any]) -> Iterator[str]:
    yield "# The paper's numbers and claims beside ours"
    yield ""
    yield f"{PAPER}. {replications(said)}"
    yield ""
    if missing := left_out(said):
        yield f"{missing}"
        yield ""


def _numbers(numbers: Sequence[Compared[Statement]]) -> Iterator[str]:
    yield "## Numbers"
    yield ""
    yield AGREEMENT
    yield ""
    yield from numbers_in_markdown(numbers)


def _properties(properties: DataFrame) -> Iterator[str]:
    if not len(properties):
        return
    yield "### What section V-E does not say of Eureka's month"
    yield ""
    yield PROPERTIES
    yield ""
    yield "Minutes on Intrepid; letters as above."
    yield ""
    heads = heads_in_words(properties)
    yield in_columns(heads)
    yield in_columns(["---"] * len(heads))
    for row in in_words(properties):
        yield in_columns(row)
    yield ""
