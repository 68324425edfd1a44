"""How a domain's Unix socket is told from others beside it, such as those of hooks and of the page."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path


def own_folder(environment: Mapping[str, str]) -> Path:
    """Return where a user's own service keeps its files: COSCHED_STATE, else `cosched` in XDG_STATE_HOME.

    That is ~/.local/state by default.
    """
    if given := environment.get("COSCHED_STATE"):
        return Path(given)
    home = environment.get("XDG_STATE_HOME") or Path(environment.get("HOME") or "~", ".local", "state")
    return Path(home, "cosched").expanduser()


def is_of_own_service(socket: Path | None) -> bool:
    """Whether a socket is that of the calling user's own service."""
    return socket is not None and socket.parent.resolve() == own_folder(os.environ).resolve()


def private_folder(socket: Path) -> Path:
    """Return the folder that a domain's service keeps beside its socket while it listens."""
    return socket.with_name(f".{socket.name}.d")


def domain_sockets(folder: Path) -> list[Path]:
    """Return the sockets of domains in a folder, sorted; none if it does not exist."""
    found = sorted(folder.glob("*.sock")) if folder.is_dir() else []
    return [path for path in found if os.path.isdir(private_folder(path.resolve()))]
