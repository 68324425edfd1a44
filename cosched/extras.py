"""What an installation may lack: packages that some commands need and others do not, and how to install them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib.util import find_spec
from typing import ParamSpec, TypeVar

from cosched.errors import InputError

DISTRIBUTION = "coscheduling"  # what the package index calls us; `cosched` there is somebody else's

# By extra, as they are imported. The extras themselves are in pyproject.toml.
SCHEDULER, SIMULATOR, DASK = "scheduler", "sim", "dask"
PACKAGES = {
    SCHEDULER: ("numba", "numpy"),
    SIMULATOR: ("jinja2", "matplotlib", "numba", "numpy", "PIL", "polars", "scipy"),
    DASK: ("distributed",),
}
USERS = {SCHEDULER: "the embedded scheduler", SIMULATOR: "the simulator", DASK: "--dask"}

P = ParamSpec("P")
R = TypeVar("R")


class MissingPackagesError(InputError):
    """Packages of an extra are not installed; `str()` names them and the command that installs them."""

    def __init__(self, extra: str, packages: tuple[str, ...]) -> None:
        super().__init__(f"{USERS[extra]} needs {', '.join(packages)}", None, install_command(extra))


def missing(extra: str) -> tuple[str, ...]:
    """The packages of an extra that are not installed."""
    return tuple(package for package in PACKAGES[extra] if find_spec(package) is None)


def need(extra: str) -> None:
    """MissingPackagesError if packages of an extra are not installed; imports none of them."""
    if packages := missing(extra):
        raise MissingPackagesError(extra, packages)


def needing(extra: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorator of a function that needs an extra."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def checked(*arguments: P.args, **options: P.kwargs) -> R:
            need(extra)
            return function(*arguments, **options)

        return checked

    return decorate


def install_command(extra: str) -> str:
    """What installs an extra."""
    return f"pip install '{DISTRIBUTION}[{extra}]'"
