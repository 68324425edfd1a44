"""Each word of the vocabulary names one thing."""

import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
HERE = ("core", "service", "sim")
# Once ambiguous
WORDS = ("Book", "Job", "Promise", "Question", "Questions", "Resized", "SizeChanged", "SlotOrder", "Turn")


def test_each_word_is_defined_once():
    text = (ROOT / "docs/vocabulary.md").read_text()
    defined = Counter(re.findall(r"^\*\*([^*]+)\*\*", text, re.MULTILINE))
    assert [word for word, times in defined.items() if times > 1] == []


def test_a_word_that_had_several_meanings_names_one_class_at_most():
    found = Counter(
        name
        for folder in HERE
        for path in (Path(ROOT / "cosched" / folder).resolve()).rglob("*.py")
        for name in re.findall(r"^class (\w+)", path.read_text(), re.MULTILINE)
    )
    assert {word: found[word] for word in WORDS if found[word] > 1} == {}
