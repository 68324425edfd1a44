"""The paper's numbers and claims beside ours, in Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from polars import DataFrame

from cosched.sim.studies.tang2011.paper.comparison import Checked, Compared, yes_or_no
from cosched.sim.studies.tang2011.tables import heads_in_words, in_words
from cosched.sim.studies.tang2011.words import AGREEMENT, PAPER, PROPERTIES, left_out, replications


def paper_in_markdown(
    said: dict[str, Any], numbers: Sequence[Compared], claims: Sequence[Checked], properties: DataFrame
) -> str:
    """Return the content of paper.md."""
    return "\n".join([*_head(said), *_numbers(numbers), *_properties(properties), *_claims(claims)]) + "\n"


def _head(said: dict[str, Any]) -> Iterator[str]:
    yield "# The paper's numbers and claims beside ours"
    yield ""
    yield f"{PAPER}. {replications(said)}"
    yield ""
    if missing := left_out(said):
        yield f"{missing}"
        yield ""


def _numbers(numbers: Sequence[Compared]) -> Iterator[str]:
    yield "## Numbers"
    yield ""
    yield AGREEMENT
    yield ""
    yield _row("where", "what", "paper", "ours", "agrees")
    yield _row(*["---"] * 5)
    for compared in numbers:
        statement = compared.statement
        said = f"{statement.said} ({statement.note})" if statement.note else statement.said
        yield _row(statement.where, statement.what, said, compared.ours, compared.agrees)
    yield ""


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
    yield _row(*heads)
    yield _row(*["---"] * len(heads))
    for row in in_words(properties):
        yield _row(*row)
    yield ""


def _claims(claims: Sequence[Checked]) -> Iterator[str]:
    holding = sum(checked.verdict.holds for checked in claims)
    yield f"## Claims: {holding} of {len(claims)} hold here"
    yield ""
    yield _row("where", "claim", "holds", "found", "if not, why")
    yield _row(*["---"] * 5)
    for checked in claims:
        claim, verdict = checked.claim, checked.verdict
        text = f"{claim.text} *({claim.criterion})*"
        yield _row(claim.where, text, yes_or_no(verdict), verdict.ours, verdict.reason)


def _row(*cells: str) -> str:
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"
