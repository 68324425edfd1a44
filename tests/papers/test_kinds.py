"""Kinds of schedulers are found by entry points; what is wrong with one is told in one line."""

import re
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from cosched.core.scheduling.capabilities import Capabilities
from cosched.schedulers import loading
from cosched.schedulers.kind import SchedulerKind
from cosched.service.configuration import Configuration
from cosched.words.errors import InputError
from cosched_papers.fluid.kind import FLUID, FluidKind
from cosched_sim.commands.options import DOMAIN_HELP, DomainCommand
from cosched_sim.configuration import Domain, replay_config
from cosched_sim.sweeps.checking import checked_sweep

TOP = Path(__file__).resolve().parents[2]
OWN = ("cosched/schedulers/",)
RUNNING_JOBS = ("cosched/v1/adaptive", "cosched/client/adaptive", "cosched/service/api/adaptive")  # their own protocol
NAME_FLUID = {  # a study of it; logs, and a study that stands by a page of docs
    "sim/cosched_sim/commands/study.py", "sim/cosched_sim/commands/options.py",
    "sim/cosched_sim/workload/applications.py",
}  # fmt: skip
PROTOCOL = re.compile(r"isinstance\([^)]*(Scheduler|Settings|Cluster)\b")
OURS = {"batch": "cosched.schedulers.batch:BATCH", "fluid": "cosched_papers.fluid.kind:FLUID"}


class Bare(SchedulerKind):
    """It says nothing of itself."""

    name, purpose = "bare", "none"
    settings = open = None
    unfinished: SchedulerKind


Bare.unfinished = Bare()


def __getattr__(name: str) -> SchedulerKind:
    if name == "BROKEN":
        raise TypeError("broken")
    raise AttributeError(name)


def found(monkeypatch, installed):
    entries = [EntryPoint(name, value, loading.GROUP) for name, value in installed.items()]
    monkeypatch.setattr(loading, "entry_points", lambda **_: entries)
    return loading.installed.__wrapped__()


def test_ours(monkeypatch):
    assert list(found(monkeypatch, OURS)) == ["batch", "fluid"]


@pytest.mark.parametrize(
    ("installed", "said"),
    [
        ({}, "cosched.schedulers:batch: is not an installed entry point: install this version of cosched again"),
        ({**OURS, "gone": "no_such_module:KIND"}, "scheduler gone: cannot be loaded: No module named 'no_such_module'"),
        ({**OURS, "bare": "tests.papers.test_kinds:Bare.unfinished"},
         "scheduler bare:keys: is missing in tests.papers."),
        ({**OURS, "mine": "tests.papers.test_kinds:BROKEN"}, "scheduler mine: cannot be loaded: broken"),
        ({**OURS, "mine": OURS["fluid"]},
         "scheduler mine: cosched_papers.fluid.kind:FLUID must be of class SchedulerKind"),
    ],
)  # fmt: skip
def test_mistakes_are_one_line(monkeypatch, installed, said):
    with pytest.raises(InputError) as caught:
        found(monkeypatch, installed)
    assert str(caught.value).startswith(said)


def test_two_kinds_with_the_same_key(monkeypatch):
    class Other(FluidKind):
        name = "other"

    monkeypatch.setattr("cosched_papers.fluid.kind.OTHER", Other(), raising=False)
    with pytest.raises(InputError, match="scheduler other:benefit: is a key of fluid, too: give it another name"):
        found(monkeypatch, {**OURS, "other": "cosched_papers.fluid.kind:OTHER"})
    assert FLUID.keys is Other.keys


def test_a_batch_system_has_a_kind_that_no_key_chooses(monkeypatch):
    known = found(monkeypatch, {**OURS, "external": "cosched.schedulers.external:EXTERNAL"})
    monkeypatch.setattr(loading, "installed", lambda: known)
    assert list(loading.kinds.__wrapped__()) == ["batch", "fluid"]
    assert loading.kind_of_batch_systems.__wrapped__().name == "external"
    monkeypatch.setattr(loading, "installed", lambda: {"fluid": FLUID})
    with pytest.raises(InputError, match=r"cosched\.schedulers:external: is not an installed entry point"):
        loading.kind_of_batch_systems.__wrapped__()


def of_a_replay(scheme: str) -> None:
    Domain(name="a", trace=".", scheduler="fluid", scheme=scheme)


def of_a_service(scheme: str, kind: str = "local", **keys: object) -> None:
    domain = {"name": "a", "listen": "127.0.0.1:1", "plaintext": True, "state": "a.db"}
    manager = {"kind": kind, "scheduler": "fluid", **keys}
    Configuration(domain=domain, coscheduling={"scheme": scheme}, manager=manager)


@pytest.mark.parametrize("read", [of_a_replay, of_a_service])
def test_a_domain_without_slots_that_is_to_meet_is_refused(monkeypatch, read):
    monkeypatch.setattr(FluidKind, "capabilities", Capabilities(resize=True))
    said = "meet needs slots, and a fluid scheduler has none: give hold or yield, or scheduler=batch"
    with pytest.raises(ValueError, match=said):
        read("meet")
    read("hold")


def test_a_key_that_acts_only_live_is_refused_in_replays_and_sweeps(monkeypatch):
    said = "level: jobs of a log have no owners"
    monkeypatch.setattr(FluidKind, "only_live", {"level": "jobs of a log have no owners"})
    replayed = {"name": "a", "trace": "generated:eureka/days=1", "scheduler": "fluid"}
    with pytest.raises(InputError, match=f"a.toml:domain.a.{said}"):
        replay_config("a.toml", {"domains": [{**replayed, "level": 4}]})
    with pytest.raises(InputError, match=f"a.toml:grid.{said}"):
        checked_sweep("a.toml", {"domains": [replayed]}, {"level": [4, 5]}, 1, 0)
    with pytest.raises(ValueError, match="jobs of a log have no owners"):
        of_a_service("hold", "replay", level=4)
    of_a_service("hold", level=4)
    help_of_keys = DomainCommand("replay", epilog=DOMAIN_HELP).epilog
    assert re.search("^  max_harvests ", help_of_keys, re.MULTILINE)
    assert not re.search("^  level ", help_of_keys, re.MULTILINE)


def product() -> Iterator[tuple[str, str]]:
    """The files that users have, by their paths, and their texts."""
    for folder in ("cosched", "sim", "adapters"):
        for path in (TOP / folder).rglob("*.py"):
            yield path.relative_to(TOP).as_posix(), path.read_text(encoding="utf-8")


def test_hardly_any_file_knows_a_kind_by_name():
    names = {path for path, text in product() if re.search(r"\bfluid\b", text, re.IGNORECASE)}
    assert {path for path in names if not path.startswith((*OWN, *RUNNING_JOBS))} <= NAME_FLUID


def test_outside_the_core_nobody_asks_what_a_scheduler_or_its_settings_are_instances_of():
    """But for the tests that packages run, which try what a scheduler's protocols say."""
    asked = {path for path, text in product() if PROTOCOL.search(text)}
    assert not {path for path in asked if not path.startswith(("cosched/core/", "cosched/conformance/"))}
