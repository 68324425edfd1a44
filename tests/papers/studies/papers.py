"""The papers that studies quote."""

from pathlib import Path

import pytest

PAPERS = Path(__file__).resolve().parents[3].parent / "shared" / "seeds"


def text_of(name: str) -> str:
    """The text of a paper, with single blanks; without it the test is skipped."""
    path = PAPERS / f"{name}.txt"
    if not path.is_file():
        pytest.skip(f"no paper to look into: {path} is missing")
    return " ".join(path.read_text().split())
