"""How a domain's Unix socket is told from others beside it, such as those of hooks and of the page."""

from __future__ import annotations

import os
from pathlib import Path


def private_folder(socket: Path) -> Path:
    """Return the folder that a domain's service keeps beside its socket while it listens."""
    return socket.with_name(f".{socket.name}.d")


def domain_sockets(folder: Path) -> list[Path]:
    """Return the sockets of domains in a folder, sorted; none if it does not exist."""
    found = sorted(folder.glob("*.sock")) if folder.is_dir() else []
    return [path for path in found if os.path.isdir(private_folder(path.resolve()))]
