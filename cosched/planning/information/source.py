"""What a source of information about machines and links must do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from pydantic import Field

from cosched.planning.facts import Listed
from cosched.planning.grid import Pair
from cosched.validation.types import ExactSeconds, Settings

SOONER = 0.9  # of its time-out: when a source gives up on its parts, so that what it knows of the others still counts


class SourceError(Exception):
    """A source, or a part of it, does not answer; `str()` says why."""


class Reading(NamedTuple):
    """A value that a source knows, of a machine or of a link.

    Of machines: `speed` in MHz, `cpu`, the share that a new process gets (0 to 1), and free `memory` in MB of 2^20
    bytes. Of links: `bandwidth` in Mb/s of 10^6 bits, and `latency` in seconds.
    """

    kind: str
    of: str | Pair  # a machine by its name, or a link by those of its ends
    value: float
    at: float | None = None  # when it was measured, in seconds since 1970; None: it does not age


class InformationSource(Protocol):
    """Reads what is known, in a thread of its own; the call may take long, and is left alone after its time-out."""

    def read(self, machines: Sequence[Listed], tell: Callable[[str], None]) -> Iterable[Reading]:
        """Return what is known of these machines and their links; it may know more.

        `tell` takes a line about a part that does not answer. SourceError: nothing is known.
        """


class SourceSettings(Settings):
    """The keys of every table under [[source]]; a kind adds its own."""

    kind: str
    timeout: ExactSeconds = Field(5, gt=0, validate_default=True)  # seconds that all of it may take
    max_age: ExactSeconds | None = None  # seconds; older values are not known


@dataclass(frozen=True, slots=True)
class SourceKind:
    """A kind of source, as an entry point of the group `cosched.information` names it."""

    name: str
    purpose: str
    settings: type[SourceSettings]
    make: Callable[[Any, Path], InformationSource]  # of settings of this type; files are relative to the folder
    mean: Callable[[Any, Path], InformationSource] | None = None  # one that reads long-term means; None: it knows none
