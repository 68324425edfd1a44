"""The key `scheduler` of a domain, and the keys that each kind of scheduler has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import BeforeValidator, create_model, model_validator

from cosched.installation.extras import PAPERS, install_command
from cosched.schedulers.kind import SchedulerKind
from cosched.schedulers.loading import DEFAULT, OF_PAPERS, kinds
from cosched.validation.mistakes import KeyedError
from cosched.validation.schemes import SchemeChoice
from cosched.validation.types import Settings


class SchedulerChoice(Settings):
    """Which kind of scheduler a domain has. A key that another kind has, or that means nothing to it, is refused."""

    scheduler: str = DEFAULT

    @property
    def scheduler_kind(self) -> SchedulerKind:
        """The kind itself."""
        return kinds()[self.scheduler]

    @model_validator(mode="after")
    def _of_one_kind(self) -> Self:
        chosen = kinds()[self.scheduler]
        owned = ((key, kind) for kind in kinds().values() for key in kind.keys.model_fields)
        for key, owner in owned:
            if key in self.model_fields_set and key not in chosen.keys.model_fields:
                raise KeyedError((key,), not_of(chosen, owner))
        for key, reason in refusals(chosen, self):
            raise KeyedError((key,), reason)
        return self


def refusals(chosen: SchedulerKind, section: Settings) -> Iterator[tuple[str, str]]:
    """Yield what a section of a domain's settings says that means nothing to this kind, and why it is refused."""
    for key in chosen.refused:
        if key in section.model_fields_set:
            yield key, not_of(chosen, kinds()[DEFAULT])
    if not chosen.capabilities.slots and getattr(section, "scheme", None) is SchemeChoice.MEET:
        yield "scheme", f"meet needs slots, and {chosen.title} has none: give hold or yield, or scheduler={DEFAULT}"


def check_place(section: Settings, kind: SchedulerKind, *, replays: bool) -> None:
    """KeyedError: a key means nothing to jobs of a log, or else (not `replays`) to those that users submit."""
    for key, reason in (kind.only_live if replays else kind.not_live).items():
        if key in section.model_fields_set:
            raise KeyedError((key,), reason)


def not_of(chosen: SchedulerKind, owner: SchedulerKind) -> str:
    """Return why a key of the kind `owner` is refused where another one was chosen."""
    if chosen.name == DEFAULT:
        return f"only {owner.title} has it: give scheduler={owner.name}, too"
    return f"{chosen.title} has none: remove it, or give scheduler={owner.name}"


def _installed(scheduler: object) -> object:
    if isinstance(scheduler, str) and scheduler in OF_PAPERS and scheduler not in kinds():
        there = f"{scheduler} is not installed, only {', '.join(kinds())}"
        raise ValueError(f"{there}: {install_command(PAPERS)}")
    return scheduler


if TYPE_CHECKING:
    from cosched.schedulers.batch import BatchKeys

    class SchedulerKeys(SchedulerChoice, BatchKeys):
        """The keys of all kinds that are installed; type checkers know those of batch."""

else:
    SchedulerKeys = create_model(
        "SchedulerKeys",
        __base__=(SchedulerChoice, *(kind.keys for kind in kinds().values())),
        scheduler=(Annotated[Literal[tuple(kinds())], BeforeValidator(_installed)], DEFAULT),
    )
