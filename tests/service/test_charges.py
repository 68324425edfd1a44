"""What jobs cost beyond their runs is counted, kept, summed up, and bounded by budgets."""

import itertools
from contextlib import closing

import pytest

from cosched.core.allocation import Allocation, SizeChanged
from cosched.core.job import JobState
from cosched.core.settings import CoschedulingSettings, Scheme
from cosched.service.domain.charges import HOUR, Accounts
from cosched.service.domain.live_domain import LiveDomain
from tests.service.configured import PLAIN
from tests.service.world import domain_a

HOLD = CoschedulingSettings(scheme=Scheme.HOLD, release_interval=600, release_jitter=0)
BUDGET = 2 * 500  # node-seconds: of job 1, for 500 s


@pytest.fixture
def world(tmp_path, monkeypatch):
    """Domains a and b whose jobs are all of u, of the account "group"."""
    accounts = Accounts({"u": "group"}, {})
    made_by = LiveDomain.__init__
    monkeypatch.setattr(LiveDomain, "__init__", lambda *of, **more: made_by(*of, **more, accounts=accounts))
    return domain_a(tmp_path, HOLD).world


def charges(node, by="owner"):
    with closing(node.store.reader()) as reader:
        return [row[1:] for row in reader.charges(by, 0, (-1, 0))]


def test_a_hold_is_charged_to_the_job_that_holds(world):
    a, b = world.nodes["a"], world.nodes["b"]
    a.submit(1, 2, 1000, "p")
    world.run(1400)
    assert charges(a) == [], "it holds still"
    assert a.domain.records.charges.used("group", world.now) == 2 * (world.now - a.domain.jobs["1"].job.held_since)
    b.submit(1, 3, 1000, "p")
    world.run(1500)
    assert a.domain.jobs["1"].state is JobState.RUNNING
    held = a.domain.jobs["1"].job.held_node_seconds
    assert held > 700
    for by, name in (("owner", "u"), ("account", "group"), ("pair", "p")):
        assert charges(a, by) == [(1, name, held, 0, 0, 0)]
    assert charges(b) == []
    assert a.store.cost(1) == (held, 0, 0, 0)


def test_all_outlive_a_restart(world):
    a = world.nodes["a"]
    a.submit(1, 2, 1000, "p")
    world.run(2000)
    used = a.domain.records.charges.used("group", world.now)
    assert used >= 2 * 600, "its hold was released after ten minutes, and another began"
    a.restart()
    assert a.domain.records.charges.used("group", world.now) == used
    assert a.domain.records.charges.used("group", world.now + 30 * HOUR) < used + 2 * 30 * HOUR - 1000


def test_without_budget_left_it_yields(world):
    a = world.nodes["a"]
    a.domain.records.charges.accounts.budgets["group"] = BUDGET
    a.submit(1, 2, 1000, "p")
    world.run(2500)
    record = a.domain.jobs["1"]
    assert record.state is not JobState.HOLDING
    assert record.reason == "HeldBudget"
    assert record.job.held_node_seconds == 2 * 600, "a hold that has begun lasts until its end"
    told = [event.detail for event in a.store.events(0, [1], [], 100) if event.what == "yields"]
    assert told[0]["over_budget"]


@pytest.mark.soak
def test_over_a_week_it_holds_its_budget_of_each_day_and_no_more(world):
    a = world.nodes["a"]
    a.domain.records.charges.accounts.budgets["group"] = BUDGET
    a.submit(1, 2, 1000, "p")
    hold, used, days = 2 * 600, [0.0], 7
    for day in range(1, days + 1):
        world.run(day * 24 * HOUR)
        used.append(a.domain.jobs["1"].job.held_node_seconds)
    per_day = [after - before for before, after in itertools.pairwise(used)]
    assert all(BUDGET <= held <= BUDGET + hold for held in per_day), per_day  # a hold that has begun lasts to its end
    assert used[-1] <= days * (BUDGET + hold)


def test_the_batch_system_s_account_of_a_job_comes_before_its_owner_s(world):
    a = world.nodes["a"]
    a.domain.records.charges.accounts.budgets["climate"] = BUDGET
    a.submit(1, 2, 1000, "p")
    a.domain.jobs["1"].account = "climate"
    world.run(2500)
    assert {row[1] for row in charges(a, "account")} == {"climate"}
    assert a.domain.records.charges.used("group", world.now) == 0
    assert not a.domain.records.charges.may_hold("1", world.now)
    assert a.domain.jobs["1"].reason == "HeldBudget"


def test_a_job_is_charged_for_the_nodes_that_it_has_not_for_those_that_it_asked_for(world):
    """ "A *hold* keeps `min`" (docs/fluid.md, With mates)."""
    a = world.nodes["a"]
    a.submit(1, 4, 1000, "p")
    world.run(1400)
    with a.domain.turns.take():
        a.domain.core.resized(SizeChanged("1", Allocation(1)))
    record = a.domain.jobs["1"]
    assert (record.state, record.nodes) == (JobState.HOLDING, 4)
    assert a.domain.records.charges.used("group", world.now) == world.now - record.job.held_since


ACCOUNT = """
[[account]]
name = "climate"
users = ["ann", "bob"]
max_held_node_hours = 1.5
"""


def test_accounts(read, refusal):
    found = read(PLAIN + ACCOUNT + '[[account]]\nname = "other"\nusers = ["eve"]\n')
    assert Accounts.of(found).budgets == {"climate": 5400}
    assert [account.users for account in found.accounts] == [("ann", "bob"), ("eve",)]
    twice = ACCOUNT.replace("climate", "physics").replace('"bob"', '"eve"')
    assert refusal(PLAIN + ACCOUNT + twice) == "account.physics.users: ann is in account climate already"
    assert refusal(PLAIN + 2 * ACCOUNT).endswith("climate is that of another account")
    assert "max_held_node_hours" in refusal(PLAIN + ACCOUNT.replace("max_held_node_hours", "max_held_hours"))
    assert refusal(PLAIN + ACCOUNT.replace("1.5", "-1")).startswith("account.climate.max_held_node_hours: ")
    assert refusal(PLAIN + "[account]\n") == "account: each account is a table under a line [[account]]"
