"""How two ends of a stream over ssh greet each other, by one line of JSON each, before its frames (`streams`)."""

from __future__ import annotations

import asyncio
import getpass
import json
from collections.abc import Mapping
from typing import Any

STREAM = 2  # the version of this greeting and of the frames
_NOISE = 200  # lines that a login may print before
_KEY = "cosched_stream"


class HelloError(Exception):
    """The other end cannot be spoken with; `str()` is one line that says why, and what to do."""


def written(fields: Mapping[str, Any]) -> bytes:
    """Return the line of a greeting with these fields."""
    return json.dumps({_KEY: STREAM, **fields}).encode() + b"\n"


def greeting(domain: str, to: str) -> dict[str, str]:
    """Return what the end of this domain says first, which has logged in to reach the domain `to`."""
    return {"domain": domain, "user": getpass.getuser(), "to": to}


async def read_hello(reader: asyncio.StreamReader) -> dict[str, Any]:
    """Return the other end's greeting; HelloError, also for what it says is wrong."""
    for _ in range(_NOISE):
        line = await reader.readline()
        if not line:
            raise HelloError("it hung up before it said who it is")
        if line.lstrip().startswith(b'{"' + _KEY.encode()):
            return _checked(line)
    raise HelloError("it prints other things than cosched's greeting: let its shell's start-up files print nothing")


def _checked(line: bytes) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except ValueError:
        raise HelloError("its greeting cannot be read") from None
    if (version := found[_KEY]) != STREAM:
        raise HelloError(f"it speaks version {version} of these streams, and this host {STREAM}: update the older one")
    if problem := found.get("problem"):
        raise HelloError(str(problem))
    if not all(isinstance(found.get(key), str) for key in ("domain", "user")):
        raise HelloError("its greeting lacks its domain or its user")
    return dict(found)
