"""Finds mistakes in a sweep before any of its cases runs."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cosched.words.errors import InputError
from cosched_sim.configuration import replay_config
from cosched_sim.mistakes import Locate, place
from cosched_sim.sweeps.case import Label
from cosched_sim.sweeps.files import digest, named_files
from cosched_sim.sweeps.grid import SCHEMES, Sweep, targets

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def checked_sweep(source: str, base: Mapping[str, Any], grid: object, replications: object, seed: object) -> Sweep:
    """Return the sweep that the file `source` describes. `base`: settings of a replay; `grid`: lists of values by key.

    The first case of each value of the grid is checked. InputError names the file, the key and the reason.
    """
    if not isinstance(grid, dict) or not grid:
        raise InputError(source, "grid", "a table of lists, such as schemes = ['none', 'HH'], is missing")
    if not base["domains"]:
        raise InputError(source, "domain", "missing: each domain is a table under a line [[domain]]")
    lists = {str(key): _values(source, str(key), values) for key, values in grid.items()}
    _check_keys(source, lists, base["domains"])
    count, first = _whole(source, "replications", replications, 1), _whole(source, "seed", seed, 0)
    sweep = Sweep(base, lists, count, first, Path(source).parent)
    _check_values(source, sweep)
    return sweep


def grid_place(key: str) -> str:
    """Return a key of the grid for messages."""
    return f"grid.{key}" if _BARE_KEY.fullmatch(key) else f"grid.{json.dumps(key, ensure_ascii=False)}"


def _whole(source: str, key: str, value: object, least: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value < 2**63:
        raise InputError(source, key, f"{value!r} is not a whole number from {least} on")
    return value


def _values(source: str, key: str, values: object) -> list[Label]:
    where = grid_place(key)
    if not isinstance(values, list) or not values:
        raise InputError(source, where, "a list of values is expected, such as [0.25, 0.5]")
    for number, value in enumerate(values):
        if not isinstance(value, str | int | float):
            raise InputError(source, where, f"text and numbers are values, not {value!r}")
        if value in values[:number]:
            raise InputError(source, where, f"{value!r} occurs twice")
    return values


def _check_keys(source: str, grid: Mapping[str, Sequence[Label]], domains: Sequence[Mapping[str, Any]]) -> None:
    """Check that each key is one of a replay or a domain, and that no two set the same."""
    setters: dict[object, str] = {}
    for key in grid:
        try:
            places = targets(key, domains)
        except ValueError as error:
            raise InputError(source, grid_place(key), str(error)) from None
        for target in places:
            if target in setters:
                raise InputError(source, grid_place(key), f"sets what {grid_place(setters[target])} sets, too")
            setters[target] = key


def _check_values(source: str, sweep: Sweep) -> None:
    """Check the first case, then each other value of a key with the first values of the other keys."""
    first = {key: values[0] for key, values in sweep.grid.items()}
    setters = {target: key for key in sweep.grid for target in targets(key, sweep.base["domains"])}

    def locate(domain: str | None, key: str | None) -> tuple[str, str | None]:
        names = [str(one.get("name")) for one in sweep.base["domains"]]
        setter = setters.get((names.index(domain) if domain in names else None, str(key)))
        return source, place(domain, key) if setter is None else grid_place(setter)

    _check(sweep, first, locate)
    for key, values in sweep.grid.items():
        for value in values[1:]:
            _check(sweep, {**first, key: value}, _at(source, key))


def _at(source: str, key: str) -> Locate:
    """Return a Locate that blames this key of the grid for any mistake."""
    return lambda *_: (source, grid_place(key))


def _check(sweep: Sweep, values: Mapping[str, Label], locate: Locate) -> None:
    """Check that a case can be run, as far as possible without reading its traces; InputError."""
    try:
        settings = sweep.case(values, 1).settings
    except ValueError as error:
        raise InputError(locate(None, None)[0], grid_place(SCHEMES), str(error)) from None
    replay_config(locate, dict(settings))
    for domain, key, path in named_files(settings):
        try:
            digest(path)
        except InputError as error:
            raise InputError(*locate(domain, key), str(error)) from None
