"""Databases of earlier versions: migrations keep what they have."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict

from cosched.core.scheduling.batch.open_cluster import OpenCluster
from cosched.core.scheduling.policies.backfilling import BACKFILLING
from cosched.core.scheduling.policies.ordering import parse_ordering
from cosched.core.scheduling.scheduler import ClusterSettings
from cosched.core.settings import CoschedulingSettings
from cosched.service.api.views import Views
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.metrics import Metrics
from cosched.service.store import Store, StoreError
from cosched.service.store.schema import MIGRATIONS
from cosched.service.store.sqlite import Database
from tests.service.store_examples import DOMAIN, execute, make

KEPT = Path(__file__).with_name("jobs_of_0023.json")  # rows, and what a service of that time said of each
STOPPED: Any = SimpleNamespace(now=lambda: 2600, to_wall=int, from_wall=int)


def earlier(path, jobs):
    """Make a database as the last versions before 0.1.0 did, with these rows of jobs."""
    plain = {"reason": "", "user_hold": 0, "end_text": "", "lookup": 0, "mate_status": 0}
    with closing(Database(path)) as database:
        MIGRATIONS.apply(database)
        for name in ("0002_refusals_in_sums", "0022_run_times", "0023_site"):
            database["_sqlite_migrations"].insert({"migration_set": "cosched", "name": name})
        for later in ("began_at", "apart_s"):
            database.execute(f"ALTER TABLE jobs DROP COLUMN {later}")
        database["jobs"].insert_all(plain | job for job in jobs)
        database["meta"].insert({"key": "store.domain", "value": "a"})


def test_an_older_database_is_brought_up_to_date_in_order(path, monkeypatch):
    make(path)
    monkeypatch.setattr(MIGRATIONS, "_migrations", [*MIGRATIONS._migrations])
    MIGRATIONS(name="0031_colour")(lambda database: database.execute("ALTER TABLE jobs ADD COLUMN colour TEXT"))
    MIGRATIONS(name="0032_paint")(lambda database: database.execute("UPDATE jobs SET colour = 'red'"))
    with closing(Store.open(path, DOMAIN)) as store:
        assert store.job(1) is not None
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT colour FROM jobs").fetchall() == [("red",)]


def test_jobs_of_a_database_in_which_copies_were_kept_of_what_the_core_knows_look_the_same(path):
    """They queue, are ready, hold, run or have completed, with calls, proposals, promises and slots; also once more."""
    jobs = json.loads(KEPT.read_text())
    earlier(path, [job["row"] for job in jobs])
    for _ in range(2):
        with closing(Store.open(path, "a")) as store:
            records = store.jobs(None, None, paired_only=False, after_id=-1, limit=-1)
            cluster = OpenCluster(ClusterSettings(10, parse_ordering("fcfs"), BACKFILLING["easy"], slots=True))
            domain = LiveDomain("a", CoschedulingSettings(slots=True), cluster, store, STOPPED, Metrics("kept"))
            views = Views(domain, STOPPED)
            assert [MessageToDict(views.job(record)) for record in records] == [job["shown"] for job in jobs]
            before = [json.loads(job["row"]["memory"]) for job in jobs]
            assert [record.job.call is not None for record in records] == ["call" in kept for kept in before]
            groups = [(record.job.group, kept.get("group", {})) for record, kept in zip(records, before, strict=True)]
            assert [bool(group and group.promise) for group, _ in groups] == ["booking" in kept for _, kept in groups]
            assert [bool(group and group.proposal) for group, _ in groups] == ["proposal" in kept for _, kept in groups]
            assert [record.scheduled for record in records] == [kept.get("scheduler", {}) for kept in before]
            with store.transaction():
                store.save_jobs(records)


def test_a_database_that_is_taken_up_has_one_migration_then(path):
    earlier(path, [job["row"] for job in json.loads(KEPT.read_text())])
    Store.open(path, "a").close()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT name FROM _sqlite_migrations").fetchall() == [("0001_tables",)]
        began = connection.execute("SELECT count(*) FROM jobs WHERE began_at IS NOT started_at").fetchone()
    assert began == (0,)


def test_a_database_that_cannot_be_taken_up_stays_as_it_was(path):
    earlier(path, [{**json.loads(KEPT.read_text())[0]["row"], "memory": "{}}"}])
    with pytest.raises(StoreError, match="what is kept of its jobs: Extra data"):
        Store.open(path, "a")
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM _sqlite_migrations").fetchone() == (4,)


def test_a_database_of_before_that_is_refused(path):
    earlier(path, [])
    execute(path, "DELETE FROM _sqlite_migrations WHERE name = '0023_site'")
    with pytest.raises(StoreError, match="too old"):
        Store.open(path, "a")


def test_a_migration_that_fails_changes_nothing(path, monkeypatch):
    make(path)

    def fail(database):
        database.execute("DELETE FROM jobs")
        database.execute("DELETE FROM nowhere")

    with monkeypatch.context() as patch:
        patch.setattr(MIGRATIONS, "_migrations", [*MIGRATIONS._migrations])
        MIGRATIONS(name="0031_fail")(fail)
        with pytest.raises(StoreError, match="no such table: nowhere"):
            Store.open(path, DOMAIN)
    with closing(Store.open(path, DOMAIN)) as store:
        assert store.job(1) is not None
