"""TOML files."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from cosched.words.errors import InputError
from cosched.words.file_errors import reason_of


def read_toml(path: str) -> dict[str, Any]:
    """Read the keys of a TOML file; InputError names the line if it is not valid."""
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(path, None, f"cannot be read: {reason_of(error, path)}") from None
    except UnicodeDecodeError:
        raise InputError(path, None, "not a text file") from None
    except tomllib.TOMLDecodeError as error:
        reason, _, line = str(error).partition(" (at line ")
        raise InputError(path, int(line.split(",")[0]) if line else None, f"not valid TOML: {reason}") from None
    except (ValueError, RecursionError):  # a number with thousands of digits, or thousands of nested brackets
        raise InputError(path, None, "a number is too long, or brackets are nested too deeply") from None
