"""Tables that are wider than the terminal: no value is ever cut."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console, RenderableType
from rich.measure import Measurement
from rich.table import Column, Table


def fitted(part: RenderableType, console: Console) -> Iterator[RenderableType]:
    """Yield `part`, or, for a table that is too wide, some that fit: below one another, each with the text columns.

    Numbers stay in one piece; text is folded where even one column of numbers beside it is too wide.
    """
    if not isinstance(part, Table) or _width(part, console) <= console.width:
        yield part
        return
    texts = [column for column in part.columns if column.justify == "left"]
    numbers = [column for column in part.columns if column.justify != "left"]
    while numbers:
        count = len(numbers)
        while count > 1 and _width(_table(part, [*texts, *numbers[:count]]), console) > console.width:
            count -= 1
        yield _table(part, [*texts, *numbers[:count]])
        numbers = numbers[count:]
        if numbers:
            yield ""
    if len(texts) == len(part.columns):
        yield _table(part, texts)


def _table(like: Table, columns: Sequence[Column]) -> Table:
    """Return a table of these columns, in which text may be folded."""
    table = Table(box=like.box, pad_edge=like.pad_edge, header_style=like.header_style)
    for column in columns:
        table.add_column(column.header, justify=column.justify, no_wrap=column.justify != "left", overflow="fold")
    for cells in zip(*(column.cells for column in columns), strict=True):
        table.add_row(*cells)
    return table


def _width(table: Table, console: Console) -> int:
    return Measurement.get(console, console.options.update(max_width=10_000), table).maximum
