"""Writes a file so that it appears whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from typing import BinaryIO


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a new file beside `path` for writing and rename it to `path` when the block ends without an error.

    After an error the new file is gone and the old one at `path` untouched. A device or a pipe cannot be replaced and
    is written to directly. OSError passes through.
    """
    target = os.path.realpath(path)
    if os.path.exists(target) and not os.path.isfile(target):
        with open(target, "wb") as stream:
            yield stream
        return
    temporary = os.path.join(os.path.dirname(target), f".{secrets.token_hex(8)}.part")
    try:
        with open(temporary, "xb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def write_whole(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write a file in this way; text as UTF-8."""
    with replacing(path) as stream:
        stream.write(content.encode() if isinstance(content, str) else content)
