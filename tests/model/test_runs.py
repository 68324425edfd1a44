"""Runs of real domains, checked against the model of what members of groups promise (docs/coscheduling.md).

Domains with their databases live in a simulated world in which messages are lost, doubled and late, and domains are
killed; and real services, which are killed, too. What each has recorded of its members is to be a behaviour of the
model, event by event.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from cosched.core.story import What
from cosched.service.domain import story as service_story
from cosched.service.store.reading import Damage, Reader
from tests.conformance.schedulers.histories import (
    FAULTS,
    HOLD,
    PATIENT,
    UNTIL,
    YIELD,
    first_acquaintance,
    linked,
    new_world,
)
from tests.conformance.schedulers.test_histories import OF_THREE
from tests.live.kill_campaign import campaign
from tests.live.services import Federation
from tests.live.test_groups import DOMAINS, configured
from tests.live.workloads import contended, outcome
from tests.model.telling import COMMAND, KINDS, NOT_TOLD
from tests.model.test_promises import ALWAYS, world
from tests.model.tlc import STANDSTILL, Outcome, check
from tests.service.world import Faults, World
from tests.tiers import SEED

TOP = Path(__file__).resolve().parents[2]

Name = tuple[int, int]
Event = tuple[str, Name]  # what happened, and the proposal that it is about
Run = tuple[tuple[Event, ...], ...]  # what the domain of each member has recorded

WORDS = {
    What.PROPOSES_TO_GROUP.value: "proposes",
    What.DROPS_PROPOSAL.value: "drops",
    What.BOOKED.value: "booked",
    What.NOT_BOOKED.value: "not booked",
    What.STARTED.value: "starts",
}


def lived(folder: Path, seed: int, schemes: tuple[object, ...], faults: Faults = FAULTS) -> list[Run]:
    """Let three domains live; what they have recorded of each group."""
    folder = folder / f"{seed}"
    folder.mkdir()
    made = new_world(folder, seed, schemes, Faults(), kind=World, **PATIENT)
    first_acquaintance(made)
    made.faults = faults
    made.run(until=UNTIL)
    databases = {name: folder / f"{name}.db" for name in made.nodes}
    runs = [_recorded(databases, jobs) for jobs in linked(made).values()]
    made.close()
    return runs


def _recorded(databases: Mapping[str, Path], jobs: Mapping[str, str]) -> Run:
    """What each domain has recorded of its job."""
    names = list(databases)
    return tuple(tuple(_events(path, int(jobs[name]), names)) for name, path in databases.items())


def _events(path: Path, job: int, names: list[str]) -> Iterator[Event]:
    reader = Reader.open(path, Damage())
    records, _ = reader.events(0, [job], [], 10_000)
    reader.close()
    for record in records:
        word = WORDS.get(record.what)
        if word is not None:
            domain, _, number = record.detail["proposal"].split("/")
            yield word, (names.index(domain) + 1, int(number))


def tell_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Domains record proposals, too, which they keep from users' stories."""
    monkeypatch.setattr(service_story, "NOT_TOLD", NOT_TOLD)
    for what, kind in KINDS.items():
        monkeypatch.setitem(service_story.KINDS, what, kind)


def lived_for_real(federation: Federation, seed: int) -> list[Run]:
    """Let three services live, which are killed again and again; what they have recorded of each group."""
    for service in federation.services:
        service.wrapper = COMMAND
        service.environment["PYTHONPATH"] = str(TOP)
    settings = {"release_interval": 3, "on_peer_unreachable": "hold", "peer_patience": "30s", "peer_grace": "1h"}
    configured(federation, ("hold", "yield", "hold"), max_held_fraction="0.75", peer_timeout=10, **settings)
    campaign(federation, contended(seed, 12, 6, domains=3), seed, 8)
    assert outcome(federation).alone() == {}
    groups: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for service in federation.services:
        with service.client() as client:
            for job in client.jobs(["completed"]):
                if job.group is not None:
                    groups[job.group.name][service.name] = job.id
    databases = {service.name: service.folder / "state.db" for service in federation.services}
    return [_recorded(databases, jobs) for jobs in groups.values()]


def checked(folder: Path, runs: list[Run]) -> Outcome:
    """Look for each event of each run in the model."""
    folder.mkdir()
    values = world((0, 0, 0)) | {"Runs": tuple(runs)}
    more = {"eventually": "EventsStay", "behaviour": "InRuns"}
    return check(folder, "PromisesOfRuns", values, invariants=ALWAYS, **more)


@pytest.mark.model
@pytest.mark.parametrize("schemes", OF_THREE)
def test_what_live_domains_record_is_of_the_model(
    schemes: tuple[object, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tell_all(monkeypatch)
    runs = [run for seed in range(2) for run in lived(tmp_path, seed, schemes)]
    print(len(runs), "groups,", sum(len(events) for run in runs for events in run), "events")
    found = checked(tmp_path / "model", runs)
    assert found.failure is None, found.output


@pytest.mark.model
def test_what_real_services_record_that_are_killed_is_of_the_model(tmp_path: Path) -> None:
    federation = Federation(tmp_path / "services", DOMAINS)
    try:
        runs = lived_for_real(federation, SEED)
    finally:
        federation.clear()
    print(len(runs), "groups,", sum(len(events) for run in runs for events in run), "events")
    assert len(runs) == 12
    found = checked(tmp_path / "model", runs)
    assert found.failure is None, found.output


@pytest.mark.model
@pytest.mark.parametrize("lost", ["proposes", "booked", "starts"])
def test_a_run_without_one_of_its_events_is_not_of_the_model(
    lost: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The record lacks what a member did before it, or others did after it; "starts": it starts a second time."""
    tell_all(monkeypatch)
    run = lived(tmp_path, 0, (YIELD, HOLD, YIELD))[0]
    proposal = run[0][-1][1]
    if lost == "starts":
        wrong = tuple((*events, events[-1]) for events in run)
    else:
        wrong = tuple(tuple(event for event in events if event != (lost, proposal)) for events in run)
    assert checked(tmp_path / "model", [run]).failure is None
    assert checked(tmp_path / "wrong", [wrong]).failure == STANDSTILL
