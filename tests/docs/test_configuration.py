"""The page on the configuration has every key, with its default."""

import re
from pathlib import Path

from cosched.service import configuration_sections as sections
from cosched.service.configuration_sections import Coscheduling, DomainSection, Manager
from cosched.validation.sections import CoschedulingFields
from cosched_adapters.local.settings import NAMES, LocalSettings

PAGE = Path(__file__).resolve().parents[2] / "docs" / "configuration.md"
SECTIONS = {
    "domain": DomainSection, "coscheduling": Coscheduling, "[peer]": sections.Peer, "[account]": sections.Account,
    "events": sections.Events, "tls": sections.Tls, "tokens": sections.Tokens, "page": sections.Page,
    "machines": sections.Machines,
}  # fmt: skip


def rows(title: str) -> list[tuple[str, str]]:
    """Key and default of each row of a section."""
    text = PAGE.read_text(encoding="utf-8").partition(f"\n## [{title}]\n")[2].partition("\n## ")[0]
    return re.findall(r"^\| `(\w+)` \|([^|]*)\|", text, re.MULTILINE)


def keys(title: str) -> list[str]:
    return [key for key, _ in rows(title)]


def test_every_key_has_a_row():
    for title, section in SECTIONS.items():
        assert set(keys(title)) == section.model_fields.keys()
    assert set(keys("manager")) == {
        "kind", "local", "slurm", "pbs", "gridengine", "replay",
    } | Manager.model_fields.keys() - {"settings"}  # fmt: skip
    of_local = re.findall(r"^\| `local` \| `(\w+)`", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert {*of_local, NAMES} == set(LocalSettings.__dataclass_fields__)


def test_a_replay_takes_those_of_the_first_table():
    first = keys("coscheduling")[: len(CoschedulingFields.model_fields)]
    assert set(first) == CoschedulingFields.model_fields.keys()


def test_keys_that_must_be_given_have_no_default():
    for title, section in (("domain", DomainSection), ("coscheduling", Coscheduling), ("manager", Manager)):
        for key, default in rows(title):
            if key in section.model_fields:
                assert bool(default.strip()) is not section.model_fields[key].is_required(), key


def test_numbers_and_words_are_those_of_the_code():
    shown = {key: default.strip() for key, default in rows("coscheduling")}
    for key, field in Coscheduling.model_fields.items():
        if shown[key].startswith('"'):
            assert shown[key].strip('"') == field.default
        elif re.fullmatch(r"[\d.]+", shown[key]):
            assert float(shown[key]) == float(field.default)
