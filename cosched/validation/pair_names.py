"""Names of pairs: which are valid in commands, scripts, the API and Slurm's comments alike."""

from __future__ import annotations

import re

MOST = 128  # characters
ALLOWED = "1 to 128 of A-Z a-z 0-9 and _ . : , + = @ / -"
_NAME = re.compile(rf"[A-Za-z0-9_.:,+=@/-]{{1,{MOST}}}")


def is_pair_name(text: str) -> bool:
    """Return whether a pair may have this name: it needs no quotes in a shell, and no blanks end it in a comment."""
    return _NAME.fullmatch(text) is not None
