"""The domain that a client calls by default, from a file of the user or of the host.

It is the first existing one of `~/.config/cosched/client.toml` (or below XDG_CONFIG_HOME) and
`/etc/cosched/client.toml`:

    server = "unix:/run/cosched/intrepid.sock"      # or HOST:PORT, with the following
    ca = "ca.pem"                                   # files relative to this one's folder
    certificate = "ann.pem"
    key = "ann.key"
    server_identity = "spiffe://site/cosched/intrepid"

Without a server there or in COSCHED_SERVER, the client calls the only domain with a socket in /run/cosched.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

HOST_FILE = Path("/etc/cosched/client.toml")
SOCKETS = Path("/run/cosched")
FILES = ("ca", "certificate", "key")
KEYS = ("server", *FILES, "server_identity")


def defaults(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the keys of the first file that exists; ValueError names the file and what is wrong with it."""
    for path in (_user_file(environment), HOST_FILE):
        try:
            text = path.read_text(encoding="utf-8")
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (OSError, UnicodeDecodeError) as error:
            raise ValueError(
                f"{path}: cannot be read: {getattr(error, 'strerror', None) or 'not a text file'}"
            ) from None
        return _checked(path, text)
    return {}


def only_socket() -> str:
    """Return unix:PATH of the only domain served on this host; ValueError if there is none, or several."""
    found = sorted(SOCKETS.glob("*.sock")) if SOCKETS.is_dir() else []
    if len(found) == 1:
        return f"unix:{found[0]}"
    if found:
        names = ", ".join(f"unix:{path}" for path in found)
        raise ValueError(f"several domains are served on this host ({names}): name one, or set COSCHED_SERVER")
    raise ValueError(
        "no domain is named, and none is served on this host: set COSCHED_SERVER to unix:PATH or HOST:PORT"
    )


def _user_file(environment: Mapping[str, str]) -> Path:
    folder = environment.get("XDG_CONFIG_HOME") or Path(environment.get("HOME") or "~", ".config")
    return Path(folder, "cosched", "client.toml").expanduser()


def _checked(path: Path, text: str) -> dict[str, str]:
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{path}: {error}") from None
    for key, value in values.items():
        if key not in KEYS:
            raise ValueError(f"{path}: {key}: no such key; there are {', '.join(KEYS)}")
        if not isinstance(value, str) or not value:
            raise ValueError(f"{path}: {key}: must be text")
    return {
        key: str(path.parent / Path(value).expanduser()) if key in FILES else value for key, value in values.items()
    }
