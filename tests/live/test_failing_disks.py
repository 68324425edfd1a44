"""Disks that fail for a while while pairs and groups start: no job starts alone or twice, and none is lost."""

from __future__ import annotations

import re

import pytest

from tests.live.disk_faults import build_shim, disks_fail, may_fail, started_again
from tests.live.kill_campaign import campaign
from tests.live.services import Federation, noted
from tests.live.test_groups import DOMAINS, configured
from tests.live.workloads import Outcome, Sides, contended, outcome, set_up
from tests.tiers import SEED

FAULTS = 16
CLEAN_END = 1  # the code of a service that ends because its disk fails; it may be started again
PATIENT = {"on_peer_unreachable": "hold", "peer_grace": "10m", "release_interval": 3, "max_held_fraction": "0.75"}
STALLED, WELL = re.compile(r'"stalled: '), re.compile(r'"the database can be written again')

pytestmark = pytest.mark.soak


def of_faults(domains: Federation, work: Sides) -> Outcome:
    """What becomes of the work while disks fail; services say so in one line each time, and end as they should."""
    with started_again(domains) as codes:
        seen = campaign(domains, work, SEED, FAULTS, strike=disks_fail)
    found = outcome(domains)
    jobs = {(domain, job) for domain, ids in seen.jobs.items() for job in ids}
    assert len(jobs) == sum(map(len, seen.jobs.values())), "an id was given twice"
    assert found.states == {"completed": len(jobs)}
    assert {start[:2] for start in noted(domains.folder)} <= jobs
    assert set(found.runs.values()) == {1}
    assert set(codes) <= {CLEAN_END}
    stalled = [len(STALLED.findall(service.log)) for service in domains.services]
    well = [len(WELL.findall(service.log)) for service in domains.services]
    assert 0 < sum(well) <= sum(stalled) <= seen.kills, "each is said in one line"
    assert codes, "no service has ended"
    return found


def test_pairs_start_together_while_disks_fail(make_pair, tmp_path):
    pair = set_up(make_pair(), 6, **PATIENT)
    may_fail(pair, build_shim(tmp_path))
    assert of_faults(pair.start(), contended(SEED, 24, 8)).alone() == {}


@pytest.mark.parametrize("schemes", [("hold", "hold", "yield"), ("meet", "meet", "hold")])
def test_groups_start_whole_while_disks_fail(make_federation, tmp_path, schemes):
    federation = make_federation(DOMAINS)
    may_fail(federation, build_shim(tmp_path))
    started = configured(federation, schemes, **PATIENT)
    assert of_faults(started, contended(SEED, 12, 6, domains=3)).alone() == {}
