"""Three services, and groups of three jobs: they start together, whatever the schemes and whoever is killed."""

import pytest

from tests.live.kill_campaign import campaign
from tests.live.services import noted, script_that_notes, start_together, wait_until
from tests.live.workloads import contended, outcome
from tests.tiers import SEED, soaked

MIXTURES = [
    ("hold", "hold", "yield"),
    ("hold", "hold", "hold"),
    ("hold", "yield", "yield"),
    ("yield", "yield", "yield"),
    ("meet", "meet", "meet"),
    ("meet", "meet", "hold"),
]
DOMAINS = "abc"
SKEW = 2.0  # seconds between the first instructions of a group's jobs, on a busy machine


def configured(federation, schemes, **coscheduling):
    for service, scheme in zip(federation.services, schemes, strict=True):
        service.config["coscheduling"].update(coscheduling, scheme=scheme)
        service.config["manager"]["slots"] = 6
    return federation.start()


@pytest.mark.parametrize("schemes", soaked(MIXTURES, 1))
def test_three_jobs_of_a_group_start_together(make_federation, schemes):
    federation = configured(make_federation(DOMAINS), schemes)
    for service in federation.services:
        others = [name for name in DOMAINS if name != service.name]
        with service.client() as client:
            job = client.submit(script_that_notes(federation.folder), group="run7", members=others)
            if service.name != DOMAINS[-1]:
                wait_until(lambda client=client, job=job: client.job(job).reason == "MateUnsubmitted", "it waits")
    wait_until(lambda: len(noted(federation.folder)) == len(DOMAINS), "all have started")
    starts = noted(federation.folder)
    assert sorted(start[:3] for start in starts) == [(name, "1", "run7") for name in DOMAINS]
    assert start_together(federation.services)


@pytest.mark.soak
@pytest.mark.parametrize("schemes", MIXTURES)
def test_many_groups_among_other_jobs_start_together(make_federation, schemes):
    settings = {"release_interval": 3, "max_held_fraction": "0.75"}
    federation = configured(make_federation(DOMAINS), schemes, **settings)
    seen = campaign(federation, contended(SEED, 12, 8, domains=3), SEED, 0)
    found = outcome(federation)
    assert {len(ids) for ids in seen.jobs.values()} == {20}
    assert set(found.runs.values()) == {1}
    assert found.alone() == {}
    assert max(found.skews()) < SKEW
    assert not federation.faults()


@pytest.mark.soak
@pytest.mark.parametrize("schemes", MIXTURES)
@pytest.mark.parametrize("unreachable", ["hold", "start"])
def test_killed_services_start_groups_whole_or_say_why_not(make_federation, schemes, unreachable):
    """No half group without a record, nothing held for ever: all jobs run, and once."""
    settings = {
        "release_interval": 3, "max_held_fraction": "0.75", "on_peer_unreachable": unreachable, "peer_patience": "30s",
        "peer_timeout": 10,
    }  # fmt: skip
    federation = configured(make_federation(DOMAINS), schemes, **settings)
    seen = campaign(federation, contended(SEED, 20, 10, domains=3), SEED, 16)
    found = outcome(federation)
    assert {domain: len(set(ids)) for domain, ids in seen.jobs.items()} == dict.fromkeys(DOMAINS, 30)
    assert set(found.states) == {"completed"}
    assert set(found.runs.values()) == {1}
    assert len(found.runs) == 3 * 30
    assert all(len(whys) == len(DOMAINS) for whys in found.whys.values())
    if unreachable == "hold":
        assert found.alone() == {}
    assert not federation.faults()
