"""The tables of the database, and the migrations that make them.

The first migration makes all tables. A change of them is a new migration at the end of this file, as
`@MIGRATIONS(name="0031_...")`: lower numbers were used before the first release (`earlier`). Once a migration has been
used it never changes.
"""

from __future__ import annotations

from contextlib import closing

from cosched.core.job import JobState
from cosched.service.store.site_schema import RUN_TIMES, SITE
from cosched.service.store.sqlite import Database, Migrations

APPLICATION_ID = 0x636F7363  # "cosc" in the file's header: a database of this program
FIRST_FINAL_STATE = int(JobState.COMPLETED)  # in this state and the following ones a job has ended

UNTOLD = "untold"  # the key in a job's memory of proposals whose outcome it must tell, also after its end
NEWS = "news"  # and of what it is to tell of itself
_TOLD = " OR ".join(f"instr(memory, '\"{key}\":{{') > 0" for key in (UNTOLD, NEWS))  # in no text is a plain quote
TELLING = f"state >= {FIRST_FINAL_STATE} AND ifnull({_TOLD}, 0)"

# Keys of the table meta that the store itself uses.
DOMAIN = "store.domain"
RETIRED = "store.retired"  # the highest sequence number of an event that was deleted

MIGRATIONS = Migrations("cosched")
FIRST_FREE = "0031"  # the number of the first migration after the first release

# Comments inside a statement are kept in the database: `sqlite3 FILE .schema` shows them.
_JOBS = f"""
CREATE TABLE jobs (  -- every job of this domain, until its retention is over; states: cosched.core.job.JobState
    id INTEGER PRIMARY KEY AUTOINCREMENT,  -- never given twice, even if the job has been deleted
    name TEXT NOT NULL,
    owner TEXT NOT NULL,
    uid INTEGER,
    nodes INTEGER NOT NULL,
    time_limit INTEGER NOT NULL,
    submitted_at INTEGER NOT NULL,  -- instants here and below: seconds of the service's own time
    state INTEGER NOT NULL,
    reason TEXT NOT NULL,
    user_hold INTEGER NOT NULL,
    ready_at INTEGER,
    started_at INTEGER,
    began_at REAL,  -- when its manager began to run it; null: not known
    ended_at INTEGER,
    exit_code INTEGER,
    end_text TEXT NOT NULL,
    lookup INTEGER NOT NULL,
    mate_status INTEGER NOT NULL,
    heard_at INTEGER,
    gap_s INTEGER,
    apart_s REAL,  -- how much later it began than those that start with it; null: not known
    group_name TEXT,  -- of its pair or group
    is_pair INTEGER NOT NULL DEFAULT 0,  -- it has a mate, and no group of that name
    mates TEXT,  -- JSON: the others by domain, in order; null: not known
    cancelled_by TEXT,  -- who has ordered its end while it ran
    preempted_at INTEGER,  -- since when the end of its last run is awaited
    account TEXT NOT NULL DEFAULT '',  -- which the batch system charges
    place TEXT,  -- JSON: where it can be reached: node list, host, port
    columns TEXT,  -- JSON: what it says beside its size and time, as text
    predictions TEXT,  -- JSON: what a running one predicts of each of its sizes
    sizing TEXT,  -- JSON: the nodes that a running one has, and was told of
    memory TEXT  -- JSON: the coscheduler's own state of the job
) STRICT;
CREATE INDEX jobs_state ON jobs (state);
CREATE INDEX jobs_owner ON jobs (owner, state);
CREATE INDEX jobs_ended ON jobs (ended_at) WHERE state >= {FIRST_FINAL_STATE};
CREATE INDEX jobs_group ON jobs (group_name, owner, ended_at) WHERE group_name IS NOT NULL;
CREATE INDEX jobs_mates ON jobs (mates, owner, ended_at) WHERE mates IS NOT NULL;
CREATE INDEX jobs_telling ON jobs (id) WHERE {TELLING}
"""
_SCRIPTS = """
CREATE TABLE scripts (  -- what each job runs; read only when it starts, gone with its end
    job INTEGER PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE,
    script BLOB NOT NULL,  -- zlib
    context BLOB NOT NULL  -- zlib of JSON: [arguments, directory, environment]
) STRICT
"""
_EVENTS = """
CREATE TABLE events (  -- what happened, in order: the story of each job, and what WatchEvents tells
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,  -- never given twice
    at INTEGER NOT NULL,
    kind INTEGER NOT NULL,  -- cosched.v1.EventKind
    job INTEGER REFERENCES jobs (id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
    what TEXT NOT NULL,
    detail TEXT NOT NULL  -- JSON
) STRICT;
CREATE INDEX events_job ON events (job) WHERE job IS NOT NULL;
CREATE INDEX events_jobless ON events (at) WHERE job IS NULL
"""
_ANSWERS = """
CREATE TABLE answers (  -- the last mutating call of each job of a peer, and what it was answered, for its retries
    peer TEXT NOT NULL,
    caller TEXT NOT NULL,  -- the peer's job
    request_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    sequence INTEGER NOT NULL,  -- of the last event before it: how old it is
    reply TEXT NOT NULL DEFAULT '[]',  -- JSON: the fields of the answer
    PRIMARY KEY (peer, caller)
) STRICT, WITHOUT ROWID
"""
_REPLIES = """
CREATE TABLE replies (  -- what users' mutating calls were answered, for their retries
    who TEXT NOT NULL,
    request_id TEXT NOT NULL,
    method TEXT NOT NULL,
    job INTEGER,  -- as the call named it: there may be no such job
    error TEXT NOT NULL,
    sequence INTEGER NOT NULL,  -- of the last event before it: how old it is
    PRIMARY KEY (who, request_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX replies_job ON replies (job)
"""
_AUDIT = """
CREATE TABLE audit (  -- who changed what, or tried to
    id INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    who TEXT NOT NULL,
    via TEXT NOT NULL,
    method TEXT NOT NULL,
    job TEXT,
    outcome TEXT NOT NULL,  -- OK or the name of the gRPC code
    detail TEXT NOT NULL,
    times INTEGER NOT NULL DEFAULT 1  -- refusals that are alike, within a minute of `at`
) STRICT;
CREATE INDEX audit_at ON audit (at)
"""
_META = """
CREATE TABLE meta (  -- single values; keys that begin with "store." are the store's own
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID
"""
_STARTS = """
CREATE TABLE starts (  -- of the last week: what mate_budget_share counts, of a domain with a mate_budget
    hour INTEGER NOT NULL,  -- of the service's own time
    owner TEXT NOT NULL,
    started INTEGER NOT NULL,
    before_turn INTEGER NOT NULL,  -- those of them that a mate_budget has started before others
    pushed INTEGER NOT NULL,  -- seconds by which these have pushed the first job of the queue
    PRIMARY KEY (hour, owner)
) STRICT, WITHOUT ROWID
"""
_ESTIMATES = """
CREATE TABLE estimates (  -- the first of each job at each distance from its start, for two weeks
    job INTEGER NOT NULL,
    kind INTEGER NOT NULL,  -- 0: when it could start for its own part, 1: when all of its pair or group start
    lead INTEGER NOT NULL,  -- the class of its distance: cosched.service.planning.estimates
    made_at INTEGER NOT NULL,
    start_at INTEGER NOT NULL,
    late INTEGER,  -- seconds by which it started later; NULL: it has not started
    PRIMARY KEY (job, kind, lead)
) STRICT, WITHOUT ROWID
"""
_SAMPLES = """
CREATE TABLE samples (  -- what nodes and jobs did, every few minutes, for the page's history
    at INTEGER PRIMARY KEY,  -- of the service's own time
    idle INTEGER NOT NULL,  -- nodes
    busy INTEGER NOT NULL,
    held INTEGER NOT NULL,
    queued INTEGER NOT NULL,  -- jobs
    holding INTEGER NOT NULL,
    running INTEGER NOT NULL
) STRICT
"""
_CHARGES = """
CREATE TABLE charges (  -- what jobs have cost beyond their runs, in node-seconds, for a year
    job INTEGER NOT NULL,
    hour INTEGER NOT NULL,  -- of the service's own time
    owner TEXT NOT NULL,
    account TEXT NOT NULL,  -- empty: none
    pair TEXT NOT NULL,  -- the name of the pair or group
    held INTEGER NOT NULL,
    booked INTEGER NOT NULL,
    pushed INTEGER NOT NULL,
    slots INTEGER NOT NULL DEFAULT 0,  -- nodes were free for a job with a slot
    PRIMARY KEY (job, hour)
) STRICT, WITHOUT ROWID;
CREATE INDEX charges_hour ON charges (hour)
"""


@MIGRATIONS(name="0001_tables")
def _tables(database: Database) -> None:
    database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    for tables in (
        _JOBS, _SCRIPTS, _EVENTS, _ANSWERS, _REPLIES, _AUDIT, _META, _STARTS, _ESTIMATES, _SAMPLES, _CHARGES, RUN_TIMES,
        SITE,
    ):  # fmt: skip
        for statement in tables.split(";\n"):  # executescript() would end the transaction
            database.execute(statement)


def applied(database: Database) -> set[str]:
    """Return the names of the migrations that the database has."""
    return {migration.name for migration in MIGRATIONS.applied(database)}


def is_newer(database: Database) -> bool:
    """Return whether the database has migrations that are unknown here."""
    with closing(Database(memory=True)) as empty:
        known = {migration.name for migration in MIGRATIONS.pending(empty)}
    return any(name >= FIRST_FREE for name in applied(database) - known)
