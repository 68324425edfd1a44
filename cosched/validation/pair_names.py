"""Names of pairs: what users may call them, wherever they write them (commands, scripts, API, comments of Slurm)."""

from __future__ import annotations

import re

MOST = 128  # characters
ALLOWED = "1 to 128 of A-Z a-z 0-9 and _ . : , + = @ / -"
_NAME = re.compile(rf"[A-Za-z0-9_.:,+=@/-]{{1,{MOST}}}")


def is_pair_name(text: str) -> bool:
    """Whether a pair may be called so: no quotes in a shell, and no blanks that end it in a comment."""
    return _NAME.fullmatch(text) is not None
