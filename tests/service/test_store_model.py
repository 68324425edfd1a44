"""The store does what plain dictionaries do, whatever is called, also over restarts and failed transactions."""

import copy
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from cosched.core.coscheduling.ledger import PairedJob
from cosched.core.coscheduling.membership import NOTHING, Membership
from cosched.core.job import JobState
from cosched.core.protocol import NO_MATE, named_mate
from cosched.service.store import AuditRecord, EventRecord, JobRecord, JobScript, Store
from tests.core.kept_values import values
from tests.service.store_examples import DOMAIN

LAST = 4  # the last instant: few, so that many coincide
ALL = 1000

instants = st.integers(0, LAST)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
numbers = st.integers(-(1 << 63), (1 << 63) - 1)
json_values = st.recursive(st.none() | st.booleans() | st.integers() | texts, lambda part: st.lists(part, max_size=2))
memories = st.dictionaries(texts, json_values, max_size=3)
peers = st.sampled_from(["eureka", "other"])
names = st.sampled_from(["1", "2"])  # of pairs, mates, users, requests
arguments, environments = st.lists(texts, max_size=2).map(tuple), st.dictionaries(texts, texts, max_size=2)
scripts = st.builds(JobScript, st.binary(max_size=50), arguments, texts, environments)


@st.composite
def jobs(draw, id):
    """Any job of that id; it has an end if its state is final."""
    state = draw(st.sampled_from(JobState))
    mates = st.builds(named_mate, peers, st.none() | names, st.none() | names)
    owner = draw(names)
    started_at, nothing = draw(st.none() | numbers), {"group": None, "untold": {}, "news": {}}
    job = draw(values(PairedJob, id=str(id), owner=owner, state=state, started_at=started_at, **nothing))
    group = job.group = Membership.named(DOMAIN, draw(st.just(NO_MATE) | mates))
    if group is not None:
        group.ids = NOTHING
    asked = draw(st.none() | numbers), draw(numbers), draw(numbers), draw(instants)  # uid, nodes, limit, submitted at
    ended_at = draw(instants) if state.final else None
    known = {"user_hold": draw(st.booleans()), "end_text": draw(texts), "scheduled": draw(memories)}
    return JobRecord(id, draw(texts), owner, *asked, job, ended_at=ended_at, **known)


@dataclass
class Model:
    """What the store should hold."""

    jobs: dict = field(default_factory=dict)
    scripts: dict = field(default_factory=dict)
    events: dict = field(default_factory=dict)
    answers: dict = field(default_factory=dict)  # (peer, caller): (answer, number of the last event before)
    replies: dict = field(default_factory=dict)  # (who, request id): (reply, the same)
    audit: list = field(default_factory=list)
    meta: dict = field(default_factory=dict)
    last_id: int = 0
    last_sequence: int = 0
    first_sequence: int = 1

    def retire(self, before):
        gone = {id: job for id, job in self.jobs.items() if job.state.final and job.ended_at < before}
        self.jobs = {id: job for id, job in self.jobs.items() if id not in gone}
        self.scripts = {id: script for id, script in self.scripts.items() if id not in gone}
        self.audit = [record for record in self.audit if record.at >= before]
        self._retire_events(gone, before)
        self._retire_answers({mate for job in gone.values() for mate in job.mates.items()})
        self._retire_replies(gone)
        return len(gone)

    def _retire_events(self, gone, before):
        old = [e.sequence for e in self.events.values() if e.job in gone or (e.job is None and e.at < before)]
        self.events = {sequence: event for sequence, event in self.events.items() if sequence not in old}
        self.first_sequence = max([self.first_sequence, *(sequence + 1 for sequence in old)])

    def _retire_answers(self, parted):
        known = {mate for job in self.jobs.values() for mate in job.mates.items()}
        for key, (_, age) in list(self.answers.items()):
            if key not in known and (key in parted or age < self.first_sequence):
                del self.answers[key]

    def _retire_replies(self, gone):
        for key, ((_, job, _), age) in list(self.replies.items()):
            if job in gone or (job not in self.jobs and age < self.first_sequence):
                del self.replies[key]


class AbandonedError(Exception):
    pass


class StoreMachine(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.model = Model()
        self.open()

    def open(self):
        self.store = Store.open(self.folder / "x.db", DOMAIN)

    def teardown(self):
        self.store.close()
        shutil.rmtree(self.folder)

    @rule()
    def restart(self):
        self.store.close()
        self.open()

    @rule(data=st.data(), steps=st.integers(1, 6), abandon=st.booleans())
    def transaction(self, data, steps, abandon):
        kept = copy.deepcopy(self.model)
        try:
            with self.store.transaction():
                for _ in range(steps):
                    data.draw(st.sampled_from(STEPS))(self, data.draw)
                self.check()
                if abandon:
                    raise AbandonedError
        except AbandonedError:
            self.model = kept

    def add_job(self, draw):
        self.model.last_id = id = self.model.last_id + draw(st.integers(1, 3))
        job, script = draw(jobs(id)), draw(scripts)
        self.store.add_job(job, script)
        self.model.jobs[id], self.model.scripts[id] = job, script

    def save_jobs(self, draw):
        ids = draw(st.lists(st.sampled_from([*self.model.jobs]), unique=True, max_size=3)) if self.model.jobs else []
        saved = {id: draw(jobs(id)) for id in ids}
        self.store.save_jobs(iter(saved.values()))
        self.model.jobs.update(saved)
        for id in (id for id, job in saved.items() if job.state.final):
            self.model.scripts.pop(id, None)

    def add_events(self, draw):
        events = [self.event(draw) for _ in range(draw(st.integers(0, 3)))]
        self.store.add_events(iter(events))
        self.model.events.update({event.sequence: event for event in events})

    def event(self, draw):
        self.model.last_sequence += draw(st.integers(1, 3))
        job = draw(st.sampled_from([None, *self.model.jobs]))
        kind = draw(st.integers(1, 3))
        return EventRecord(self.model.last_sequence, draw(instants), kind, job, draw(texts), draw(memories))

    def add_audit(self, draw):
        record = AuditRecord(draw(instants), *(draw(texts) for _ in range(3)), draw(st.none() | texts), "OK", "")
        self.store.add_audit(record)
        self.model.audit.append(record)

    def save_answer(self, draw):
        peer, caller = draw(peers), draw(names)
        answer = draw(texts), draw(texts), draw(st.lists(st.booleans() | st.none() | texts, max_size=2))
        self.store.save_answer(peer, caller, *answer)
        self.model.answers[peer, caller] = answer, self.model.last_sequence

    def save_reply(self, draw):
        who, request = draw(names), draw(names)
        reply = draw(texts), draw(st.none() | st.integers(1, 9)), draw(texts)
        self.store.save_reply(who, request, *reply)
        first, sequence = self.model.replies.get((who, request), (reply, self.model.last_sequence))
        self.model.replies[who, request] = (*first[:2], reply[2]), sequence

    def set_meta(self, draw):
        key, value = draw(names), draw(texts)
        self.store.set_meta(key, value)
        self.model.meta[key] = value

    def retire(self, draw):
        before = draw(instants)
        assert self.store.retire(before) == self.model.retire(before)

    @precondition(lambda self: self.model.jobs)
    @rule(data=st.data())
    def list_jobs(self, data):
        states = data.draw(st.none() | st.lists(st.sampled_from(JobState)))
        owner = data.draw(st.none() | names)
        paired_only, after = data.draw(st.booleans()), data.draw(st.integers(0, self.model.last_id))
        limit = data.draw(st.integers(0, 3))
        found = [
            job
            for id, job in sorted(self.model.jobs.items())
            if id > after and (states is None or job.state in states) and owner in (None, job.owner)
            if job.mates or not paired_only
        ]
        assert self.store.jobs(states, owner, paired_only, after, limit) == found[:limit]

    @precondition(lambda self: self.model.events)
    @rule(data=st.data())
    def list_events(self, data):
        ids, kinds = data.draw(st.lists(st.integers(1, 9))), data.draw(st.lists(st.integers(1, 3)))
        after, limit = data.draw(st.integers(0, self.model.last_sequence)), data.draw(st.integers(0, 3))
        found = [
            event
            for sequence, event in sorted(self.model.events.items())
            if sequence > after and (not ids or event.job in ids) and (not kinds or event.kind in kinds)
        ]
        assert self.store.events(after, ids, kinds, limit) == found[:limit]

    @rule(peer=peers, owner=names, pair=st.none() | names, mate=names)
    def find_ended_mate(self, peer, owner, pair, mate):
        theirs = [job for job in self.model.jobs.values() if job.owner == owner and peer in job.mates]
        named = [job for job in theirs if (job.mates[peer] == mate if pair is None else job.group_name == pair)]
        last = max(filter(lambda job: job.state.final, named), key=lambda job: (job.ended_at, job.id), default=None)
        assert self.store.ended_mate(peer, owner, pair, mate) == last

    @invariant()
    def check(self):
        store, model = self.store, self.model
        everything = [model.jobs[id] for id in sorted(model.jobs)]
        assert store.jobs(None, None, False, 0, ALL) == everything
        assert store.active_jobs() == [job for job in everything if not job.state.final]
        for id in range(1, model.last_id + 1):
            assert store.job(id) == model.jobs.get(id)
            assert store.script(id) == model.scripts.get(id)
        assert store.events(0, [], [], ALL) == [model.events[sequence] for sequence in sorted(model.events)]
        assert store.answers() == [(*key, *answer) for key, (answer, _) in sorted(model.answers.items())]
        assert store.audit(ALL) == model.audit
        self.check_single_values(store, model)

    def check_single_values(self, store, model):
        assert store.next_job_id() == model.last_id + 1
        assert (store.first_sequence(), store.last_sequence()) == (model.first_sequence, model.last_sequence)
        for name in ("1", "2"):
            assert store.meta(name) == model.meta.get(name)
            for request in ("1", "2"):
                assert store.reply(name, request) == model.replies.get((name, request), (None,))[0]


STEPS = [
    StoreMachine.add_job, StoreMachine.save_jobs, StoreMachine.add_events, StoreMachine.add_audit,
    StoreMachine.save_answer, StoreMachine.save_reply, StoreMachine.set_meta, StoreMachine.retire,
]  # fmt: skip

TestStore = StoreMachine.TestCase
TestStore.settings = settings(max_examples=20, stateful_step_count=15)


@pytest.mark.soak
class TestStoreLong(TestStore):
    settings = settings(max_examples=200, stateful_step_count=15)
