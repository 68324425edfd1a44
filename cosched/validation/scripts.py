"""The first line of a script, which names its interpreter. Imports nothing: each job's own process uses it."""

from __future__ import annotations


def interpreter(script: bytes) -> str:
    """Return the path of the interpreter that a script, or its first line, names; empty: none."""
    first = script.partition(b"\n")[0]
    words = first[2:].split(maxsplit=1) if first.startswith(b"#!") else []
    return words[0].decode("utf-8", "surrogateescape") if words else ""


def wrong_first_line(script: bytes) -> str | None:
    """Say what is wrong with the first line of a script that names an interpreter; None: nothing is known to be."""
    if script.startswith(b"#!") and script.partition(b"\n")[0].endswith(b"\r"):
        return r"its lines end as on Windows, and no interpreter's name ends in CR: mend it by sed -i 's/\r$//' FILE"
    return None
