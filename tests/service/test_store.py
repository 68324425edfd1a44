"""What the store keeps and refuses, beside what it finds again: see test_store_model."""

import pytest

from cosched.core.coscheduling.ledger import News, Parted, Untold
from cosched.core.job import JobState
from cosched.core.protocol import SettleGroupStart, TellMember, named_mate
from cosched.service.store import JobScript, Store, StoreError
from cosched.service.store.statements import TELLING_JOBS
from tests.service.store_examples import DOMAIN, SCRIPT, add, audit, event, job, retire

S = JobState


@pytest.fixture
def store(path):
    store = Store.open(path, DOMAIN)
    yield store
    store.close()


def ids(jobs):
    return [job.id for job in jobs]


def full_job(id=7):
    ran = {"ready_at": 11, "started_at": 12, "ended_at": 13, "exit_code": 137, "end_text": "over its time limit"}
    mate = {"named": named_mate("eureka", "π run", "17.eureka"), "lookup": 1, "mate_status": 4, "heard_at": 14}
    held = {"reason": "MateQueuing", "holds": 1, "held_until": 1 << 62, "gap_s": 3}
    return job(id, S.FAILED, **ran, **mate, **held, user_hold=True, scheduled={"guard": 7})


@pytest.mark.parametrize("record", [full_job(), job(7), job(7, uid=None, scheduled={"share": [4, 100]})])
def test_a_job_is_found_as_it_was_added(path, store, record):
    add(store, [record])
    store.close()
    again = Store.open(path, DOMAIN)
    assert again.job(7) == record
    assert type(again.job(7).state) is JobState
    assert type(again.job(7).user_hold) is bool
    assert again.script(7) == SCRIPT
    again.close()


def test_a_job_is_saved_as_it_is_now(store):
    add(store, [job(6), job(7)])
    with store.transaction():
        store.save_jobs([full_job()])
    assert store.job(7) == full_job()
    assert store.job(6) == job(6)
    assert (store.script(6), store.script(7)) == (SCRIPT, None)  # one that has ended runs no more
    assert store.script_bytes().keys() == {6}


def test_only_jobs_that_were_added_can_be_saved(store):
    add(store, [job(1)])
    with pytest.raises(LookupError), store.transaction():
        store.save_jobs([job(1, nodes=9), job(2)])
    assert store.job(1) == job(1)


def test_an_id_is_added_once(store):
    add(store, [job(1)])
    with pytest.raises(StoreError, match=r"UNIQUE constraint failed: jobs\.id"):
        add(store, [job(1, owner="bob")])
    assert store.job(1) == job(1)


ODD = JobScript(bytes(range(256)) * 4000, ("\n", "ü", "\udcff"), "/tmp/ä b", {"A": "", "B": "x=y\n\udc80"})


@pytest.mark.parametrize("script", [JobScript(b"", (), "", {}), ODD])
def test_a_script_is_found_as_it_was_added(store, script):
    with store.transaction():
        store.add_job(job(1), script)
    assert store.script(1) == script


def test_a_script_shows_nothing_of_itself():
    assert repr(SCRIPT) == "JobScript()"


def test_events_may_come_before_their_job_but_not_without_it(store):
    with store.transaction():
        store.add_events([event(1, job=1)])
        store.add_job(job(1), SCRIPT)
    with pytest.raises(StoreError, match="FOREIGN KEY constraint failed"):
        add(store, events=[event(2, job=2)])
    assert store.last_sequence() == 1


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ({}, [1, 2, 3, 4, 5]),
        ({"states": [S.QUEUED]}, [1, 4]),
        ({"states": [S.FAILED, S.QUEUED, S.QUEUED]}, [1, 2, 4, 5]),
        ({"states": []}, []),
        ({"owner": "bob"}, [3, 4, 5]),
        ({"owner": "nobody"}, []),
        ({"owner": "bob", "states": [S.QUEUED, S.RUNNING]}, [3, 4]),
        ({"paired_only": True}, [2, 4]),
        ({"paired_only": True, "owner": "alice"}, [2]),
        ({"after_id": 3}, [4, 5]),
        ({"after_id": 2, "owner": "bob", "limit": 2}, [3, 4]),
        ({"states": [S.FAILED, S.QUEUED], "after_id": 1, "limit": 2}, [2, 4]),
    ],
)
def test_jobs_by_condition(store, condition, found):
    add(
        store,
        [
            job(1), job(2, S.FAILED, named=named_mate("eureka", "p")), job(3, S.RUNNING, owner="bob"),
            job(4, owner="bob", named=named_mate("eureka", "p")), job(5, S.FAILED, owner="bob"),
        ],
    )  # fmt: skip
    every = {"states": None, "owner": None, "paired_only": False, "after_id": 0, "limit": 1000}
    assert ids(store.jobs(**{**every, **condition})) == found


def test_the_mate_that_ended_last(store):
    named = {"named": named_mate("eureka", "p", "17")}
    add(
        store,
        [
            job(1, S.COMPLETED, ended_at=300, **named),
            job(2, S.FAILED, ended_at=500, **named),
            job(3, S.CANCELLED, ended_at=400, named=named_mate("eureka", "p", "18")),
            job(4, S.RUNNING, **named),
            job(5, S.FAILED, ended_at=600, named=named_mate("other", "p", "17")),
            job(6, S.FAILED, ended_at=700, **{**named, "owner": "bob"}),
        ],
    )
    assert store.ended_mate("eureka", "alice", "p", None).id == 2
    assert store.ended_mate("eureka", "alice", None, "18").id == 3
    assert store.ended_mate("eureka", "alice", "p", "18").id == 2
    assert store.ended_mate("other", "alice", "p", None).id == 5
    assert store.ended_mate("eureka", "bob", "p", None).id == 6
    assert store.ended_mate("eureka", "alice", "q", None) is None
    assert store.ended_mate("eureka", "alice", None, "p") is None
    assert store.ended_mate("eureka", "alice", None, None) is None


@pytest.mark.parametrize(
    ("after", "jobs", "kinds", "limit", "found"),
    [
        (0, [], [], 100, [1, 2, 3, 4, 6]), (2, [], [], 2, [3, 4]), (0, [1], [], 100, [1, 3]),
        (1, [2, 1], [], 100, [3, 4]), (0, [], [5, 6], 100, [3, 4]), (0, [1], [5], 100, [3]), (0, [9], [], 100, []),
        (6, [], [], 100, []), (0, range(1, 100_000), [], 100, [1, 3, 4]),
    ],
)  # fmt: skip
def test_events_by_condition(store, after, jobs, kinds, limit, found):
    told = [event(1, 1), event(2), event(3, 1, kind=5), event(4, 2, kind=6), event(6)]
    add(store, [job(1), job(2)], told)
    assert store.events(after, jobs, kinds, limit) == [record for record in told if record.sequence in found]


def test_the_last_records_of_the_audit(store):
    with store.transaction():
        for at in (3, 1, 2):
            store.add_audit(audit(at))
    assert store.audit(2) == [audit(1), audit(2)]


def test_single_values(store):
    for value in ("3600", "-3600"):
        with store.transaction():
            store.set_meta("shift", value)
        assert store.meta("shift") == value


# Transactions


def test_nothing_is_written_outside_a_transaction(store):
    with pytest.raises(RuntimeError, match="in transactions only"):
        store.add_job(job(1), SCRIPT)
    with pytest.raises(RuntimeError, match="in transactions only"):
        store.retire(5)
    assert store.active_jobs() == []


def test_transactions_do_not_nest(store):
    with pytest.raises(StoreError, match="within a transaction"), store.transaction():
        add(store, [job(1)])
    add(store, [job(2)])
    assert ids(store.active_jobs()) == [2]


# Retention


def test_old_jobs_may_be_retired_in_portions(store):
    add(store, [job(n, S.COMPLETED, ended_at=at) for n, at in enumerate((1, 2, 2, 2, 3, 4, 9), 1)])
    gone = []
    while (portion := store.portion(9, 2)) < 9:
        gone.append(retire(store, portion))
    assert gone == [4]  # those that ended at one instant go together
    assert (retire(store, portion), ids(store.jobs(None, None, False, 0, -1))) == (2, [7])


@pytest.mark.parametrize(
    ("told", "waits"),
    [
        ({"news": {"eureka": News(TellMember("17", "1", 2), 40)}}, True),
        ({"untold": {"eureka": Untold(SettleGroupStart("a/1/1", "17", "1", start=True), 40)}}, True),
        ({"news_told": 2}, False),
        ({"parted": Parted("eureka", "17", "news")}, False),
    ],
)
def test_a_job_that_still_has_something_to_tell_is_found_and_not_retired(store, told, waits):
    ended, other = job(1, S.CANCELLED, ended_at=5), job(2, S.CANCELLED, ended_at=5)
    for name, value in told.items():
        setattr(ended.job, name, value)
    add(store, [ended, other])
    assert ids(store.telling_jobs()) == [1] * waits
    assert retire(store, 100) == 2 - waits
    plan = store._connection.execute(f"EXPLAIN QUERY PLAN {TELLING_JOBS}").fetchall()
    assert "USING INDEX jobs_telling" in str(plan), "a start does not read all jobs that have ended"


def test_retiring_a_job_deletes_everything_of_it(store):
    paired = {"named": named_mate("eureka", mate="17")}
    old, new, active = job(1, S.COMPLETED, ended_at=99, **paired), job(2, S.FAILED, ended_at=100), job(3)
    add(store, [old, new, active], [event(n, job=n, at=20) for n in (1, 2, 3)])
    with store.transaction():
        store.save_answer("eureka", "17", "eureka/17/1", "MateStarted", [True])
        for number in (1, 2, 3):
            store.save_reply("alice", f"r{number}", "SubmitJob", number, "")
    assert retire(store, 100) == 1
    assert [store.job(number) for number in (1, 2, 3)] == [None, new, active]
    assert [store.script(number) for number in (1, 2, 3)] == [None, SCRIPT, SCRIPT]
    assert [record.job for record in store.events(0, [], [], 10)] == [2, 3]
    assert [store.reply("alice", f"r{n}") is None for n in (1, 2, 3)] == [True, False, False]
    assert store.answers() == []
    assert retire(store, 100) == 0


def test_an_answer_stays_as_long_as_any_job_here_names_its_caller(store):
    paired = {"named": named_mate("eureka", mate="17")}
    add(store, [job(1, S.CANCELLED, ended_at=5, **paired), job(2, **paired)], [event(1, job=1)])
    with store.transaction():
        store.save_answer("eureka", "17", "eureka/17/1", "MateStarted", [True])
    assert retire(store, 100) == 1
    assert len(store.answers()) == 1
    with store.transaction():
        store.save_jobs([job(2, S.COMPLETED, ended_at=6, **paired)])
    assert retire(store, 100) == 1
    assert store.answers() == []


def test_answers_about_no_job_go_with_the_events_before_them(store):
    for number in (1, 2):
        with store.transaction():
            store.add_events([event(number, at=10 * number)])
            store.save_answer("eureka", f"{number}", "x", "MateStarted", [False])
            store.save_reply("alice", f"r{number}", "CancelJob", 99, "JOB_NOT_FOUND")
    retire(store, 15)
    assert [caller for _, caller, *_ in store.answers()] == ["2"]
    assert store.reply("alice", "r1") is None
    assert store.reply("alice", "r2") is not None
