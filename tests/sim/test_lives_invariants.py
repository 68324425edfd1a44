"""Random lives of pairs: jobs are cancelled, fail, are queued again, unlinked and replaced, at random instants.

At the end of each instant nobody holds for a mate that has ended, but for a successor that may come; and where pairs
are queued again together, there is no half pair. Who plays which domain makes no difference, if no job is queued again.
"""

from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from cosched.core.job import WAITING, JobState
from cosched.core.protocol import Terms
from cosched.core.settings import OnMemberLost, OnMemberRequeued
from cosched_sim.engine import Engine
from cosched_sim.script import Action, ScriptedEvent
from cosched_sim.what_if import WhatIf
from tests.sim.exact import pairing_of, ref_domain, setup_of, some_jobs, some_pairs
from tests.sim.federated import casts, played, simulated
from tests.tiers import seeds

ACTIONS = [Action.CANCEL, Action.CANCEL, Action.REQUEUE, Action.REQUEUE, Action.FAIL, Action.UNLINK, Action.REPLACE]
SCHEMES = ["hold", "hold", "yield"]


def some_life(rng: Random):
    """Two or three domains with pairs, and what happens to their jobs."""
    names = "ABC"[: rng.choice([2, 2, 3])]
    domains = [ref_domain(rng, name, some_jobs(rng, 12), scheme=rng.choice(SCHEMES)) for name in names]
    pairs = some_pairs(rng, domains, most=9)
    patience = rng.choice([0, 0, 20])
    rules = {
        "on_member_lost": rng.choice(list(OnMemberLost)),
        "successor_patience": patience,
        "successor_hold": rng.choice([0, patience // 2, patience]),
        "on_member_requeued": rng.choice([*OnMemberRequeued, OnMemberRequeued.REQUEUE]),
        "max_requeues": 10**6,
    }
    setups = [setup_of(domain) for domain in domains]
    setups = [replace(setup, coscheduling=replace(setup.coscheduling, **rules)) for setup in setups]
    pairing = replace(pairing_of(pairs, setups), terms={})
    terms = {}
    for pair in pairing.rows:
        (one, other) = pair.members
        if rng.random() < 0.3:
            terms[one] = Terms(ends_with=(names[other[0]],), fail_together=rng.random() < 0.5)
    return setups, replace(pairing, terms=terms), list(_events(rng, setups, pairing))


def _events(rng, setups, pairing):
    paired = pairing.members(len(setups))
    for _ in range(rng.randint(1, 8)):
        index, action = rng.randrange(len(setups)), rng.choice(ACTIONS)
        rows = range(len(setups[index].workload))
        alone = [row for row in rows if row not in paired[index]]
        among = sorted(paired[index]) if action in (Action.UNLINK, Action.REPLACE) else rows
        if among and (alone or action is not Action.REPLACE):
            new = rng.choice(alone) if action is Action.REPLACE else 0
            row, final = rng.choice(among), action is Action.CANCEL and rng.random() < 0.3
            yield ScriptedEvent(rng.randrange(80), action, setups[index].name, row=row, new=new, final=final)
            if action is Action.REPLACE:
                paired[index] = paired[index] | {new}


def check(engine: Engine, now: int, counts: Counter[str]) -> None:
    """What must hold at the end of an instant, of pairs whose jobs know each other."""
    cores = {each.ledger.domain: each for each in engine.coschedulers}
    for name, core in cores.items():
        for job in core.jobs.values():
            mate = None if job.mate is None else cores[job.peer].jobs.get(job.mate)
            if mate is None or mate.mate != job.id or mate.peer != name:
                continue
            if job.state is JobState.HOLDING and mate.state.final:
                lost = job.group.lost.get(job.peer)
                until = 0 if lost is None else lost.hold_until
                assert now < until, (now, job, mate)
                counts["awaited"] += 1
            if core.settings.on_member_requeued is OnMemberRequeued.REQUEUE and mate.runs and mate.state in WAITING:
                assert job.state is not JobState.RUNNING, (now, job, mate)
                counts["queued again"] += job.state in WAITING


@pytest.mark.parametrize("seed", seeds(2, 100))
def test_nobody_holds_for_the_dead_and_no_pair_is_halved(seed):
    rng, counts = Random(f"lives {seed}"), Counter()
    for number in range(100):
        setups, pairing, script = some_life(rng)
        engine = Engine(setups, pairing, WhatIf(script))
        before = [0]

        def tell(now, engine=engine, before=before):
            check(engine, before[0], counts)
            before[0] = now

        engine.run(tell, stride=1)
        check(engine, engine.now, counts)
        looped = simulated(setups, pairing, script=script)
        if any(event.action is Action.REQUEUE for event in script):
            continue  # the world keeps what yields have added to such a job's priority, an open cluster does not
        for cores in casts(setups):
            assert played(setups, pairing, cores, script) == looped, (number, cores, script)
    assert counts["awaited"], counts
    assert counts["queued again"], counts
