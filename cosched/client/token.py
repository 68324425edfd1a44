"""The user's token for domains that take tokens. It is read anew for each call, and sent over TLS only.

Where no file is named, it is found as by WLCG Bearer Token Discovery: in BEARER_TOKEN, in the file BEARER_TOKEN_FILE,
or in the file bt_uUID in XDG_RUNTIME_DIR.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc

from cosched.words.file_errors import reason_of

MOST = 8192  # characters: with all other headers of a call they must fit into 16 KiB
_FORM = re.compile(r"[A-Za-z0-9._~+/=-]+")


def read_token(file: str | Path | None) -> str | None:
    """Return the token in a file (None: where one is found); None if there is none. OSError, ValueError."""
    if file is None and (given := os.environ.get("BEARER_TOKEN")):
        return _checked("BEARER_TOKEN", given)
    file = file or os.environ.get("BEARER_TOKEN_FILE") or _of_session()
    return _checked(str(file), Path(file).read_bytes().decode("ascii", "replace")) if file else None


def with_token(tls: grpc.ChannelCredentials, file: str | Path | None) -> grpc.ChannelCredentials:
    """Return credentials by which each call brings the token, if there is one; OSError and ValueError as it is now."""
    read_token(file)
    return grpc.composite_channel_credentials(tls, grpc.metadata_call_credentials(_Bearer(file), "token"))


class _Bearer(grpc.AuthMetadataPlugin):  # type: ignore[misc]
    def __init__(self, file: str | Path | None) -> None:
        self._file = file

    def __call__(self, _: Any, send: Callable[[tuple[tuple[str, str], ...], Exception | None], None]) -> None:
        try:
            token = read_token(self._file)
        except OSError as error:
            send((), ValueError(f"{error.filename}: {reason_of(error, error.filename)}"))
        except ValueError as error:
            send((), error)
        else:
            send((("authorization", f"Bearer {token}"),) if token else (), None)


def _of_session() -> Path | None:
    folder = os.environ.get("XDG_RUNTIME_DIR")
    path = Path(folder, f"bt_u{os.geteuid()}") if folder else None
    return path if path is not None and path.exists() else None


def _checked(place: str, text: str) -> str:
    token = text.strip()
    if not _FORM.fullmatch(token):
        raise ValueError(f"{place} holds no token: one line is expected")
    if len(token) > MOST:
        raise ValueError(f"{place} holds a token of {len(token):,} characters: domains take at most {MOST:,}")
    return token
