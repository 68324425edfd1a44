"""How `cosched submit` hands a script to a batch system: by its own command, which runs as the calling user."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping, Sequence

from cosched.core.protocol import Named
from cosched.words.errors import InputError
from cosched_adapters.manager import ManagerError
from cosched_adapters.mate_words import option_of


def run(
    argv: Sequence[str], script: bytes, environment: Mapping[str, str] | None = None, directory: str | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run the command, with the script as its input. ManagerError: it cannot be run."""
    try:
        return subprocess.run(argv, input=script, capture_output=True, check=False, cwd=directory, env=environment)
    except FileNotFoundError:
        raise ManagerError(f"{argv[0]} is not found in PATH; jobs of this domain are submitted with it") from None
    except (OSError, ValueError) as error:
        raise ManagerError(f"{argv[0]} cannot be run: {getattr(error, 'strerror', None) or error}") from None


def words_of(named: Named | None, words: Callable[[Named], dict[str, str]]) -> dict[str, str]:
    """Return the words by which a job names this mate; none without a mate. InputError: no words can name it."""
    if named is None:
        return {}
    try:
        return words(named)
    except ValueError as error:
        raise InputError(option_of(named), None, str(error)) from None


def exported(export: str) -> list[str]:
    """Return qsub's options for an environment: ALL, NONE, or variables by name."""
    words = export.split(",")
    names = [name for name in words if name not in ("ALL", "NONE", "")]
    return [*(["-V"] if "ALL" in words else []), *(["-v", ",".join(names)] if names else [])]
