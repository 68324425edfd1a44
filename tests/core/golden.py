"""Files that a person can read and a test compares with what happens now.

To write them again: COSCHED_WRITE_GOLDEN=1 pytest tests/core, and read the difference before it is committed.
"""

import os
from pathlib import Path


def check(name: str, text: str) -> None:
    """The text equals the stored file (or becomes it)."""
    path = Path(__file__).parent / name
    if os.environ.get("COSCHED_WRITE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), f"{path.name}: see {__name__}.py on how to write it again"
