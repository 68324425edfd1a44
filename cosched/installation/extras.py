"""Optional packages, which only some commands need: whether they are installed, and how to install them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib.util import find_spec
from typing import ParamSpec, TypeVar

from cosched.words.errors import InputError

DISTRIBUTION = "coscheduling"  # our name in the package index, where `cosched` is another project

# The packages of each extra, by import name. pyproject.toml defines the extras. The simulator and the studies of papers
# are distributions of their own, which bring all that they need; but `make demo` installs the simulator without these.
SCHEDULER, SIMULATOR, PAPERS, DASK, HOST = "scheduler", "sim", "papers", "dask", "host"
PAGE, TOKENS = "page", "tokens"
PACKAGES = {
    SCHEDULER: ("numba", "numpy"),
    DASK: ("distributed",),
    HOST: ("psutil",),
    PAGE: ("jinja2", "starlette", "uvicorn"),
    TOKENS: ("jwt",),
    SIMULATOR: ("jinja2", "matplotlib", "PIL", "polars", "scipy", "zstandard"),
}
USERS = {
    SCHEDULER: "the embedded scheduler",
    DASK: "--dask",
    HOST: "the source of information `host`",
    PAGE: "the page",
    TOKENS: "[tokens]",
    SIMULATOR: "this command",
}

P = ParamSpec("P")
R = TypeVar("R")


class MissingPackagesError(InputError):
    """Packages of an extra are not installed; `str()` names them and the command that installs them."""

    def __init__(self, extra: str, packages: tuple[str, ...]) -> None:
        super().__init__(f"{USERS[extra]} needs {', '.join(packages)}", None, install_command(extra))


def missing(extra: str) -> tuple[str, ...]:
    """Return the packages of an extra that are not installed."""
    return tuple(package for package in PACKAGES[extra] if find_spec(package) is None)


def need(extra: str) -> None:
    """Raise MissingPackagesError if packages of an extra are not installed; import none of them."""
    if packages := missing(extra):
        raise MissingPackagesError(extra, packages)


def needing(extra: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorate a function that needs an extra: it raises MissingPackagesError where the extra is not installed."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def checked(*arguments: P.args, **options: P.kwargs) -> R:
            need(extra)
            return function(*arguments, **options)

        return checked

    return decorate


def install_command(extra: str) -> str:
    """Return the shell command that installs an extra."""
    return f"pip install '{DISTRIBUTION}[{extra}]'"
