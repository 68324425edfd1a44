"""What a scheduler reads of a job beyond its size, its time and its owner: a column of a CSV log, an option, a word."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from cosched.validation.text import shown

UNKNOWN = -1
LEAST_NODES = "least"  # what submissions call the fewest nodes of a job whose size changes while it runs
MIN_NODES, MAX_NODES = "min_nodes", "max_nodes"  # and between which numbers a scheduler chooses its size at its start


def written(value: Any) -> str:
    """Return the text of a value; empty if the job says nothing."""
    return "" if value == UNKNOWN else str(value)


class Column(NamedTuple):
    """One of them: how its text is read (ValueError: it cannot be), and written.

    `default`: of a job that says nothing of it. `option`: what it is called in submissions; empty: as in logs.
    `whole`: its values are whole numbers; else they are anything that does not change, or UNKNOWN. `flag`: the text for
    which an option of `cosched submit` without a value stands; empty: it has a value.
    """

    name: str
    read: Callable[[str], Any]
    write: Callable[[Any], str] = written
    default: int = UNKNOWN
    help: str = ""
    option: str = ""
    whole: bool = True
    flag: str = ""

    @classmethod
    def of_words(cls, name: str, *words: str, help: str = "") -> Column:
        """Return one whose text is one of these words; the first is the default."""

        def read(text: str) -> int:
            if text not in words:
                raise ValueError(f"{shown(text)} is neither {' nor '.join(words)}")
            return words.index(text)

        return cls(name, read, words.__getitem__, 0, help)

    def read_named(self, text: str) -> Any:
        """Return the value of a text of a submission; ValueError names the column."""
        try:
            return self.read(text)
        except ValueError as error:
            raise ValueError(f"{self.asked}: {error}") from None

    @property
    def is_number(self) -> bool:
        """Whether its text is a whole number."""
        return self.whole and self.write is written

    @property
    def asked(self) -> str:
        """What it is called in submissions."""
        return self.option or self.name
