"""The cases of a sweep: every combination of the values of some settings, in a number of replications."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cosched.validation.mistakes import no_such_key
from cosched.validation.schemes import SchemeChoice
from cosched_sim.combinations import COSCHEDULING, letter_of
from cosched_sim.configuration import Domain, ReplayConfig
from cosched_sim.flags import FILES, in_folder
from cosched_sim.sweeps.case import Case, Label
from cosched_sim.workload.generated import is_generated

SCHEMES = "schemes"  # the grid's key that sets the schemes of all domains
NO_COSCHEDULING = "none"  # one of its values; the others have a letter for each domain
LETTERS = {letter_of(scheme): str(scheme) for scheme in COSCHEDULING}
REPLICATION = "replication"  # the label that counts replications from 1
NEITHER = ("domains", "seed", "events", "name")  # keys that a grid cannot have
Target = tuple[int | None, str]  # the index of a domain (None: the replay itself) and one of its keys


@dataclass(frozen=True)
class Sweep:
    """A grid of replays. Iterating creates the cases one by one: replication by replication, the last key fastest.

    `base` are the settings common to all replays. `grid` has the values of other keys: DOMAIN.KEY, a KEY of every
    domain or of the replay, or "schemes". Replication r (from 1) has the seed `seed` + r - 1 at every place in the
    grid, so all places see the same drawn traces and pairs.
    """

    base: Mapping[str, Any]
    grid: Mapping[str, Sequence[Label]]
    replications: int
    seed: int
    folder: Path = Path()  # file names in the grid are relative to it

    def __len__(self) -> int:
        """Return the number of cases."""
        return self.replications * math.prod(map(len, self.grid.values()))

    def __iter__(self) -> Iterator[Case]:
        """Iterate over the cases in order."""
        for replication in range(1, self.replications + 1):
            for values in itertools.product(*self.grid.values()):
                yield self.case(dict(zip(self.grid, values, strict=True)), replication)

    @property
    def draws(self) -> bool:
        """Whether anything depends on the seeds; if not, all replications are equal."""
        traces = [domain.get("trace") for domain in self.base["domains"]]
        traces += [value for key, values in self.grid.items() if key.endswith("trace") for value in values]
        drawn = any(is_generated(trace) and "/seed=" not in str(trace) for trace in traces)
        return drawn or "pair_fraction" in {**self.base, **self.grid}

    def case(self, values: Mapping[str, Label], replication: int) -> Case:
        """Return one case; ValueError for an impossible key or scheme."""
        domains = [dict(domain) for domain in self.base["domains"]]
        settings = {**self.base, "domains": domains, "seed": self.seed + replication - 1}
        for key, value in values.items():
            for (domain, name), its in _assignments(key, value, domains):
                (settings if domain is None else domains[domain])[name] = self._found(name, its)
        return Case(settings, {**values, REPLICATION: replication})

    def _found(self, key: str, value: Label) -> Label:
        return in_folder(self.folder, value) if key in FILES and isinstance(value, str) else value


def targets(key: str, domains: Sequence[Mapping[str, Any]]) -> list[Target]:
    """Return what a key of the grid sets; ValueError if there is no such key."""
    everywhere = range(len(domains))
    if key == SCHEMES:
        return [(domain, "scheme") for domain in everywhere]
    ours = [name for name in Domain.model_fields if name not in NEITHER]
    top = [name for name in ReplayConfig.model_fields if name not in NEITHER]
    name, _, last = key.rpartition(".")
    if name:
        return [(_domain(name, domains), _known(last, ours))]
    return [(None, key)] if key in top else [(domain, _known(key, [*ours, *top, SCHEMES])) for domain in everywhere]


def _domain(name: str, domains: Sequence[Mapping[str, Any]]) -> int:
    names = [domain.get("name") for domain in domains]
    if name not in names:
        raise ValueError(f"no domain is called {name}; there are {', '.join(map(str, names))}")
    return names.index(name)


def _known(key: str, names: Sequence[str]) -> str:
    if key == "seed":
        raise ValueError("cannot be in a grid; replications have their own seeds")
    if key not in names:
        raise ValueError(no_such_key(key, names))
    return key


def _assignments(key: str, value: Label, domains: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Target, Label]]:
    """Yield each target of a key with its value."""
    places = targets(key, domains)
    values = _schemes(value, len(domains)) if key == SCHEMES else [value] * len(places)
    return zip(places, values, strict=True)


def _schemes(value: Label, domains: int) -> list[str]:
    text = str(value)
    if text == NO_COSCHEDULING:
        return [str(SchemeChoice.OFF)] * domains
    if len(text) != domains or not LETTERS.keys() >= set(text):
        *others, last = LETTERS
        letters = f"{', '.join(others)} or {last}"
        raise ValueError(f"{text!r} is neither {NO_COSCHEDULING!r} nor {domains} letters, {letters} for each domain")
    return [LETTERS[letter] for letter in text]
