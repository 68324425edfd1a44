"""The page on operating says what every reason means."""

import re
from pathlib import Path

from cosched.service.domain import story
from cosched.words.reasons import REASONS, WHY

OPERATING = Path(__file__).resolve().parents[2] / "docs" / "operating.md"
PROTO = OPERATING.parents[1] / "proto" / "cosched" / "v1" / "job.proto"


def section(title: str) -> str:
    return OPERATING.read_text().partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def reasons_of_the_protocol() -> set[str]:
    comment = re.search(r"Coscheduling's own: (.*?)\n  string reason", PROTO.read_text(), re.DOTALL)
    assert comment is not None
    return set(re.findall(r"\b(?:Mate|Held|Yielded|Peer|Job)\w*", comment[1])) - {"JobState"}


def test_every_reason_is_explained():
    explained = set(re.findall(r"(?:^| and |, )\*\*(\w+)\*\*", section("Reasons"), re.MULTILINE))
    ours = {story.HELD_BY_USER, story.PUT_ASIDE, story.WAITS_IN_QUEUE, story.HELD_CAP, *WHY}
    assert explained == ours | set(REASONS) | reasons_of_the_protocol()
